"""Embedding models: the description of an embedding space, and the loaders of encoders and cross-encoders."""
