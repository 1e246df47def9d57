"""Tests of the client library against the real collector."""
