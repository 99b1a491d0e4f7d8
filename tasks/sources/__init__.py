"""Sources: from folders and globs to files and their members, read only if they may have changed."""
