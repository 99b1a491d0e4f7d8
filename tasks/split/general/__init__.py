"""Strategies for any text."""
