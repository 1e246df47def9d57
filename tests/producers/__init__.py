"""Real producers, each in a virtual environment of its own, sending to the real collector."""
