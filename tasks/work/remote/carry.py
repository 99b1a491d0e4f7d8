"""Carry: the one function that a cluster imports by name; this module imports nothing else until it is called."""


def carry(step: str, parcel: bytes) -> bytes:
    """Carry out a step on this machine, and return its receipt.

    Both are plain JSON, see `docmill.tasks.work.remote.parcels`. It never raises, because a scheduler would print the
    parcel with the error.
    """
    from docmill.tasks.work.remote.worker_steps import perform

    return perform(step, parcel)
