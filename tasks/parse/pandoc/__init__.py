"""Documents that pandoc reads, drawn from its tree of blocks."""
