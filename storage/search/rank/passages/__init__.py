"""Passages: the sentences of hits that answer a query, chosen over all hits under one budget of tokens."""
