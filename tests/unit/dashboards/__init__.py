"""Tests of what pages are made of."""
