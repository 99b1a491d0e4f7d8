"""Pictures: separates a document's pictures from its decoration, and keeps each once."""
