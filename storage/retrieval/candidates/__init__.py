"""Candidates: what a search reads of a snapshot, and the fusion of both rankings."""
