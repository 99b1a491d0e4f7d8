"""Records: what Prefect saves and shows of a run: its outcome and the graph of its tasks."""
