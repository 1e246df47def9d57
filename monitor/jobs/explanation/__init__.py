"""Explains a change of quality from stored samples and the labels that came for them."""
