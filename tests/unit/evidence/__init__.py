"""Evidence, without a database: bundles, chains and what verification finds."""
