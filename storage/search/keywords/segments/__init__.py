"""Segments: build immutable files of postings, merge them, and mark removed chunks with tombstones."""
