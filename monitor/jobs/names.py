"""Names of the jobs as they stand in job_window."""

PROFILE = "profile"
SERVING = "serving-profile"
LABELS = "labels"
CHECKS_HOUR = "checks-hour"
WATCH = "watch-hours"
CHECKS_DAY = "checks-day"
CHECKS_MONTH = "checks-month"
