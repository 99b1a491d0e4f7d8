"""Rank: from a query to hits that explain their scores, by steps over candidates."""
