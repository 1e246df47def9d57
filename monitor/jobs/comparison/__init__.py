"""Comparisons of deployments that a person asks for."""
