"""Candidates: what a search reads from a snapshot, and the fusion of both rankings."""
