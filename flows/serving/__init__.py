"""Serving: doors for other programs, which ask stores over MCP and HTTP and get the JSON of the command line."""
