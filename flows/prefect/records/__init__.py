"""Records: what Prefect keeps and shows of a run: its outcome and the graph of its tasks."""
