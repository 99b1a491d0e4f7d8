"""Parsing: from a file's bytes to its canonical text, the typed spans of it, and its metadata."""
