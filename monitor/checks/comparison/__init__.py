"""Two sets of deployments compared: what differs in their tags, and in what they do."""
