"""Load, compute purely, save: every job is these three steps and safe to run twice."""
