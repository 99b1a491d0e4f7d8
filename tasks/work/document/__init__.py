"""One document, from bytes to chunks, as processed in a worker process."""
