"""What docmill keeps, and where: rows, artifacts, snapshots and the indexes over them."""
