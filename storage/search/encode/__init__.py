"""Encode: describe embedding spaces, and compute vectors of texts."""
