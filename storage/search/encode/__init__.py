"""Encode: the description of an embedding space, and the encoders that make vectors of texts."""
