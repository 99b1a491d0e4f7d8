"""Formats other than Word that pandoc reads, and what each needs before."""
