"""General strategies: they split any text."""
