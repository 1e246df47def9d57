"""How producers tell requests in spans: one file a dialect, one line in the registry."""
