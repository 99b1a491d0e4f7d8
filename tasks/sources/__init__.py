"""Sources: from folders and globs to files and what is in them, read only where something may have changed."""
