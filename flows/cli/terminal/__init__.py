"""The terminal: the flags of commands and the output of results."""
