"""Splitting: strategies that turn a parsed document into the spans of its chunks."""
