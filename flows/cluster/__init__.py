"""Cluster: an engine that hands batches and texts to the workers of an existing cluster."""
