"""Evaluate: measure and tune searches."""
