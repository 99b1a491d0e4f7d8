"""Office documents: what they need before and beside the reading of sheets and slides."""
