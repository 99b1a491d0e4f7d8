"""Tables: rows in Parquet buckets, written as whole files and read by id."""
