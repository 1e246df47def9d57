"""Alerting: rules, alert lifecycle, messages and channels. Knows labels and numbers, nothing of models or Postgres."""
