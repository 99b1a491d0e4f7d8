"""Files of tables: databases and columns, each table with its schema and its first rows."""
