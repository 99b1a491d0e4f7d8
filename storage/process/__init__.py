"""Bind this process, its memory and its children."""
