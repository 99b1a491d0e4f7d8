"""The terminal: how commands take their flags, and how they print."""
