"""Flows: the order of the steps, as the Prefect flows `ingest` and `evaluate` and as the command line."""
