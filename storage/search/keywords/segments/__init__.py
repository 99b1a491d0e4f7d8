"""Segments: how immutable files of postings are built, merged and marked with tombstones."""
