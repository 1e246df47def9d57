"""OTLP over HTTP: the wire, and the dialects of those who speak it. Pure."""
