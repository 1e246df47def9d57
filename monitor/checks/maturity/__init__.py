"""How soon labels come, how mature a cohort is, and what may be said of one that is not."""
