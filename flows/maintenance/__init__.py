"""Maintenance: look after an installation and a store, and take documents out of it."""
