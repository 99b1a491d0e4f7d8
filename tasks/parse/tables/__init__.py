"""Tables: which rows of a table name its columns, and one row that says what they say."""
