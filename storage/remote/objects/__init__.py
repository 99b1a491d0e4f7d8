"""The object store: a bucket, transfers to and from it, and the lease of its writer."""
