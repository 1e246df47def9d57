"""Two answers to the same inputs: tests and intervals that use the pairing. Pure."""
