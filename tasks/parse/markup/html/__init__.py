"""HTML, drawn in one walk over its tree."""
