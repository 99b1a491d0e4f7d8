"""What happens to the data: plain functions on values, from a file's bytes to chunks and vectors."""
