"""Measurement: how well a store answers, what its chunks are worth, and which settings suit it."""
