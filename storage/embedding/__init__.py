"""Embedding models: which space their vectors lie in, and the loader that encodes texts."""
