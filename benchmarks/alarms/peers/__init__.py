"""The programs AlarmBench compares with, run from their own packages."""
