"""What a model's requests cost, and what a successful task costs. Pure."""
