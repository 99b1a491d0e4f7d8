"""Dispatch: detect the type of a file, and call its parser."""
