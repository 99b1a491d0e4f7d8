"""Records: what Prefect keeps of a run: its graph of task runs, its final state, its events and its artifacts."""
