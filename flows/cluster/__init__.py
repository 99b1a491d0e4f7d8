"""Cluster: an engine that sends batches, texts and buckets to the workers of an existing cluster."""
