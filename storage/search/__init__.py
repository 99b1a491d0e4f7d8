"""Search: what the indexes hold, and the way from a query to its hits."""
