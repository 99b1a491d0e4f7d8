"""The commands, grouped by topic."""
