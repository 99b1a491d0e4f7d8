"""Word's fields and comments, written into the text of a document before pandoc reads it."""
