"""LaTeX, made ready for pandoc: what only lays out is unwrapped, and large or damaged sources are read in parts."""
