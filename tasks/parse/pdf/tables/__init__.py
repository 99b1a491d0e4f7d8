"""Tables of a PDF page: the rows of grids, what stands outside of their rules, and tables of figures without rules."""
