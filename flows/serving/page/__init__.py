"""The page of `docmill serve`: its files, which a browser runs without a build step and without the network."""
