"""Tests of paired statistics."""
