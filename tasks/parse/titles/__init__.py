"""Titles: which lines of a text without markup begin sections."""
