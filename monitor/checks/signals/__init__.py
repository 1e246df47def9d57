"""Signals and human review: rates, ratings, preferences, agreement of raters, sampling weights."""
