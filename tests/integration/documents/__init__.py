"""Reports built from stored rows."""
