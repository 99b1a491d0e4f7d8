"""Embedding: the packaged model or one by path, what space its vectors lie in, and vectors read in a window."""
