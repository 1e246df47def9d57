"""The Inferwatch service: collector, store, profiles, checks, jobs and reports."""
