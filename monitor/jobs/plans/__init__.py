"""Which measurements are planned for a window: a file a subject, listed in registry.py."""
