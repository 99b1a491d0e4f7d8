"""Tasks: the work on data, as plain functions on values, from a file's bytes to chunks and vectors."""
