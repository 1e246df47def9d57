"""Bodies of requests and answers that many producers share."""
