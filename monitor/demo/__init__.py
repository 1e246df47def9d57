"""The flights demo: a year of real requests through the real service."""
