"""Flapping inputs through our alerts and through a real Alertmanager, side by side."""
