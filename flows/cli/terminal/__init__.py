"""The terminal: how commands take flags and print results."""
