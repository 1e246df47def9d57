"""Tests of alerting: pure parts with values, the webhook against a real local server."""
