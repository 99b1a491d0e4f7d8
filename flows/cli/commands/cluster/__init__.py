"""Cluster: workers and schedulers on other machines."""
