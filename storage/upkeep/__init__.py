"""Upkeep: verify and repair, compact, and what removes files that nothing names."""
