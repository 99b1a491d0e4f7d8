"""Control this process, its memory and its children."""
