"""Who is told what, when: a pure plan from the states of alerts, silences and the clock."""
