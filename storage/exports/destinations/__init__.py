"""Where exports go: one module for each kind of file and database."""
