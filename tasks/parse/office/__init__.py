"""Office documents: decryption, properties and parts, shared by sheets and slides."""
