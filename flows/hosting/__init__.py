"""Hosting: the Prefect server, runs in this process, and runs on a schedule."""
