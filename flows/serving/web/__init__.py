"""Web: the stores over HTTP, for programs and for what measures them."""
