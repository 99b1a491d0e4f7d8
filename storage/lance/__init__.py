"""LanceDB, and nowhere else: the vector index, its versions under a fence, and small tables held in memory."""
