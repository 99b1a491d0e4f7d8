"""The command line: a thin command for each function of docmill."""
