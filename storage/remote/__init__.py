"""Remote: stores on an object store, and the local folders that follow them."""
