"""Publishing: plan a run, and commit its results as one snapshot."""
