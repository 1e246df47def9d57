"""Tests of the context of an incident."""
