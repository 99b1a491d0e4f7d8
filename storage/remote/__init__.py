"""Remote: stores on an object store, and the local folders that mirror them."""
