"""Pictures: what a document shows, told from its decoration and kept once."""
