"""Measurement: retrieval quality, chunk quality, and the best settings for a store."""
