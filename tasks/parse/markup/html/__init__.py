"""HTML, drawn by one walk over its tree."""
