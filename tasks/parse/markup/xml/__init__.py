"""XML of any kind, as prose or as records."""
