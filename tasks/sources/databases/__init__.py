"""Databases: the rows of a SELECT as sources."""
