"""Steps of a search: each takes candidates and gives them back changed."""
