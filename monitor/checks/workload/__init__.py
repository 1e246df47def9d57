"""What a model's traffic was like, and whether numbers of two workloads may be compared."""
