"""MCP: the Model Context Protocol, by which language models search and read stores."""
