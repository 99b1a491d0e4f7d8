"""Work: documents in batches and worker processes, on this machine and on others."""
