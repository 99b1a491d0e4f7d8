"""Splitting: from a parsed document to the spans that become its chunks, by one of several strategies."""
