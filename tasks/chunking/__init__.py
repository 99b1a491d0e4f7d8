"""Chunking: from routed regions to chunks with contexts that fit the model."""
