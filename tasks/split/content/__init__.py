"""Strategies for one kind of content."""
