"""Rankers: further models of a store, which score pairs, tokens or learned terms, and the files that name them."""
