"""Documents that pandoc reads, from Word to LaTeX: one walk over its syntax tree draws them all."""
