"""Search: what is in the indexes, and the way from a query to its hits."""
