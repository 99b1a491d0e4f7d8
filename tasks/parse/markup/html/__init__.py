"""HTML, by one walk over its tree."""
