"""Context: the text added before a chunk for retrieval, so that it can be understood alone."""
