"""Clients of language model providers, behind a circuit breaker."""
