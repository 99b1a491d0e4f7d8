"""Measurement: retrieval quality, chunk quality, and the settings that suit a store."""
