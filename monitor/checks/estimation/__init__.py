"""Quality without labels: what a model's scores, calibrated on labelled requests, let us expect.

None of these can see a change in P(y | x). Knows counts, scores and feature tables, no database.
"""
