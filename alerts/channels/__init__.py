"""Ways to reach a receiver: the only part of alerting that talks to a network."""
