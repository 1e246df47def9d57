"""Changes that no single column shows: correlations of pairs, and telling two days apart."""
