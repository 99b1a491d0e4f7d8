"""Pool: worker processes that handle one document after another, with limits on time and memory."""
