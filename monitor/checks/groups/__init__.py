"""Groups of people compared: shares of favourable answers, gaps of quality, worst groups."""
