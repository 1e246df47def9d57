"""Tests of the conditions of rules."""
