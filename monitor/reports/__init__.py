"""Read-only views for people: dashboard, command line and summaries."""
