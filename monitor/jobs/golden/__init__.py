"""Golden sets replayed against a model server, and shadow pairs: sent, read back, judged."""
