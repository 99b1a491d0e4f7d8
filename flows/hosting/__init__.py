"""Hosting: the embedded Prefect server, runs in this process, and scheduled runs."""
