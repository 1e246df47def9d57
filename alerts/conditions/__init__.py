"""Conditions of rules beyond a plain bound: allowed range, burn rate, composite. Pure."""
