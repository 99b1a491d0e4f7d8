"""Retrieval: from a query to hits that explain themselves, by steps over candidates."""
