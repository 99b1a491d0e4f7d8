"""History: the list of snapshots, their tags and retention, and the files that no snapshot names."""
