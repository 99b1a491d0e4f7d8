"""Word documents, and what pandoc does not read of them."""
