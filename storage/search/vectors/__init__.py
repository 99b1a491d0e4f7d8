"""Vectors: the only importers of LanceDB, its versions behind a fence, and small tables held in memory."""
