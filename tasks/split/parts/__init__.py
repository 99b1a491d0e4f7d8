"""Parts: the inputs of a strategy, and its look-ups in the document."""
