"""Paths: which ones the patterns of ignore files, sources and routes select."""
