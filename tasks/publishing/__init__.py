"""Publishing: what a run has to do, and how its results become one committed snapshot."""
