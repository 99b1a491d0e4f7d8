"""Blocks of a PDF: headings, paragraphs and list items."""
