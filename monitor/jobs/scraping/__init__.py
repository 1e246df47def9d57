"""Reading the metrics of servers: one page, and all that are due."""
