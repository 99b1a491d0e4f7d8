"""MCP: let language models search and read stores over the Model Context Protocol."""
