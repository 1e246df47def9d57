"""The HTTP edge: authentication, limits, routes. Nothing here looks inside a record."""
