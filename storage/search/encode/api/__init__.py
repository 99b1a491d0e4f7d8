"""Embedding models behind APIs: their addresses, the requests to them, and the vectors kept from them."""
