"""Workers: processes that parse and split, each document within bounds of time and memory, and their orders."""
