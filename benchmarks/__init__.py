"""Measures what the product promises in numbers, side by side with what it is compared with."""
