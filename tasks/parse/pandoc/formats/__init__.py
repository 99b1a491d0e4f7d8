"""Formats other than Word that pandoc reads, and how each is prepared."""
