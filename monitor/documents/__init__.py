"""Reports for people who review a model: built from stored rows as known at a moment."""
