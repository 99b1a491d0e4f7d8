"""Prefect: the embedded server, runs in this process and scheduled runs."""
