"""The chunks of a snapshot in files and databases of other programs, which follow the store by what changed in it."""
