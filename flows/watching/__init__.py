"""Watching: notice that sources have changed, and ingest each burst of changes in one run."""
