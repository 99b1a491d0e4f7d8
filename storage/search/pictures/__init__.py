"""Pictures: compute vectors of figures' pictures with a model, keep them in packs, and compare them with words."""
