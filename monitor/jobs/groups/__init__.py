"""Measures groups once a month: answers, quality, and the group that does worst."""
