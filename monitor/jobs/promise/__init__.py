"""The job that keeps the promise about drift alarms, hour by hour."""
