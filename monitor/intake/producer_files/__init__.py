"""Files that producers write: each format is one file here and one line in the registry."""
