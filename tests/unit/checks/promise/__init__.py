"""Unit tests of the promise engine, and studies of its false alarms and power."""
