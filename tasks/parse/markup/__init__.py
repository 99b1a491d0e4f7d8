"""Markup: Markdown, HTML and XML."""
