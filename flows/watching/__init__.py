"""Watching: detect changes of sources, and ingest each burst of changes in one run."""
