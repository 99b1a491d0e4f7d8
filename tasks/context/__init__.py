"""Context: what is said before a chunk for retrieval, so that it can be understood alone, in one of several ways."""
