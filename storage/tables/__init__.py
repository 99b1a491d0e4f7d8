"""Tables: rows in Parquet buckets, written as wholes and read by id."""
