"""Raised and lowered letters and formulas, written within a line of text."""
