"""SQL over a snapshot: the DuckDB sandbox, and views for other DuckDBs."""
