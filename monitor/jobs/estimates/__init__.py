"""Daily estimates of quality without labels, and their errors once the labels are in."""
