"""Storage: the rows, artifacts, snapshots and indexes that docmill stores."""
