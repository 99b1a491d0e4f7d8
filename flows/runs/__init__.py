"""Runs: the ingest as one pipeline for every engine, its batches, and the report of what it did."""
