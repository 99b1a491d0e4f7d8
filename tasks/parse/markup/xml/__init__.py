"""XML of any kind, drawn as prose or as records."""
