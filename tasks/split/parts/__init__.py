"""Parts: the input of a strategy, and its look-ups in the document."""
