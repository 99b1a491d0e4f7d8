"""When things happen and in what order: the ingest flow, its engines and the command line."""
