"""Pandoc: documents that pandoc reads, drawn from pandoc's syntax tree."""
