"""A store on an object store: there lies the truth, and a local folder of the same layout is its mirror."""
