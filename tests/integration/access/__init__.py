"""Signing in, over HTTP."""
