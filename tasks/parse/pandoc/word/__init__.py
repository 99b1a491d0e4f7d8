"""Word documents, including content that pandoc does not read."""
