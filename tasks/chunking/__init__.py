"""Chunking: from regions and their routes to chunks with contexts that fit the model."""
