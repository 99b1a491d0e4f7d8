"""The mirror: a local folder that follows a store on an object store."""
