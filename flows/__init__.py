"""When things happen and in what order: the ingest flow, its engines and the command line."""

import os

# Arrow reads this when it is loaded, and only this reaches what it allocates inside: see `docmill.storage.memory`.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
