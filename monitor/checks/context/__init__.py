"""What surrounds a drift incident: columns, segments, deployments and the clock."""
