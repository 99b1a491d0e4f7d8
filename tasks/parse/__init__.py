"""Parsing: from a file's bytes to its canonical text, typed elements and metadata."""
