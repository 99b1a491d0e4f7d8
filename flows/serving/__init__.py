"""Serving: let other programs ask stores over MCP and HTTP; answers are the JSON of the command line."""
