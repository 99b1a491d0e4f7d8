"""Sources: from folders and globs to files and their members, reading only files that may have changed."""
