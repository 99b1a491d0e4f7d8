"""Vectors: the vector index in LanceDB, safe writes to its versions, and small tables kept in memory."""
