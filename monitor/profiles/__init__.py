"""Mergeable summaries of requests: exact counts and integer sums. Pure."""
