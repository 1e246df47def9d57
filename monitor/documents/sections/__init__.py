"""One section of a report each: reads stored rows, gives tables, charts and sentences."""
