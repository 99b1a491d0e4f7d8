"""Markdown, HTML and XML: documents whose markup is read from their text."""
