"""The worlds of AlarmBench: traffic without any shift."""
