"""Steps of a search: each takes candidates and returns them changed, reordered or reduced."""
