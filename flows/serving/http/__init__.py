"""HTTP: the paths of a server, for programs and for monitoring."""
