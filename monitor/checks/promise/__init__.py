"""The promise about drift alarms: from counts by hour to p-values, firings and incidents. Pure."""
