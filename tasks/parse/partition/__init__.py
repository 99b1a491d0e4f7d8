"""Files read by the library `unstructured`, whose elements are drawn as canonical text."""
