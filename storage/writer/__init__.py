"""The writer: one commit over tables, postings and vectors, and the plain files of the newest snapshot."""
