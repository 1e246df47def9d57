"""Human review: draws requests, writes task files, takes ratings in, sums up what they say."""
