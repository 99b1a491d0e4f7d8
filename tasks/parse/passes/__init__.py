"""Passes: processing common to every drawn format, done once over the blocks that a reader has drawn."""
