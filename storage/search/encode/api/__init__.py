"""Embedding models by API: where they are, what they are asked, and which of their vectors are kept."""
