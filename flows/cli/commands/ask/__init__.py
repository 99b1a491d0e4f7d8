"""Ask: search, list, explain, serve, report and export."""
