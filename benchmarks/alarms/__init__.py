"""AlarmBench: how often drift alarms are false and how soon real shifts are found."""
