"""Lay out what a command explains, as text with bars and as an HTML page."""
