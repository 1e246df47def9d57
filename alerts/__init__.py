"""Alerting: rules, lifecycle, messages, channels. Knows labels and numbers, nothing of models."""
