"""Tests of maturity."""
