"""The command line: one thin command for each thing that docmill does."""
