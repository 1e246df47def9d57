"""One file a server: its own names of metrics, and the readings they become."""
