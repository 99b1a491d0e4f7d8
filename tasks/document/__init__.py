"""One document, from bytes to chunks, as a worker process handles it."""
