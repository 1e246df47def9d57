"""One way to write a report each. Pure: the same document gives the same bytes."""
