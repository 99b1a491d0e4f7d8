"""Runs: the ingest as one pipeline for all engines, its batches, and the report of a run."""
