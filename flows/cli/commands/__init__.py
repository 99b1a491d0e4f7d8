"""The commands, in a folder for each group of `docmill --help`."""
