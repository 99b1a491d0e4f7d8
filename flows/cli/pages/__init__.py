"""Lay out the results of commands as text with bars and as HTML pages."""
