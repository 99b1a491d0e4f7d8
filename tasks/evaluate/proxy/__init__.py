"""Proxies: questions made from the documents themselves, for documents without real ones."""
