"""The page of `docmill serve`: its files, which browsers run without a build step or access to the internet."""
