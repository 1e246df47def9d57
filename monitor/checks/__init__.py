"""Statistics as pure functions of profiles. No database, HTTP, clock or environment."""
