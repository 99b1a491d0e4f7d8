"""Pandoc: documents that pandoc reads, drawn from its syntax tree."""
