"""Notes of online editors: documents that they keep as trees of nodes in JSON."""
