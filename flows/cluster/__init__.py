"""Cluster: an engine that hands batches, texts and buckets to the workers of an existing cluster."""
