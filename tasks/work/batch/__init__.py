"""Batches: groups of documents, from files to staged chunks and their vectors."""
