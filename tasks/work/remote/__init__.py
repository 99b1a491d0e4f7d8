"""Remote: steps of a run on other machines, which get parcels and return receipts."""
