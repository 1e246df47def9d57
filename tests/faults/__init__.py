"""Faults on real processes: what is killed, refused or kept waiting loses no message."""
