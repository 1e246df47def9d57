"""Conditions: what rules can ask about Inferwatch itself and about what it is fed."""
