"""Exports: the chunks of a snapshot in files and databases of other programs, kept in sync with the store."""
