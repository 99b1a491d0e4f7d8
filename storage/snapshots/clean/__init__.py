"""Clean: verify and repair a store, compact it, and remove files that no snapshot names."""
