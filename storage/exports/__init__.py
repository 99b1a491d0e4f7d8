"""Exports: the chunks of a snapshot in files and databases of other programs, which follow what changed in it."""
