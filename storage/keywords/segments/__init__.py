"""Segments: immutable postings files, how they are built, merged and marked with tombstones."""
