"""The mirror: a local folder that mirrors a store on an object store."""
