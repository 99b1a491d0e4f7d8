"""Markdown and MDX: the file itself, with its blocks as elements."""
