"""The job of signals: what happened to requests afterwards, by day of the request."""
