"""When things happen and in what order: the ingest and the evaluation as Prefect flows, and the command line."""
