"""Paths: which paths the patterns of ignore files, sources and routes select."""
