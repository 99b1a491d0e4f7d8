"""Dispatch: what type of file it is, and the parser that reads it."""
