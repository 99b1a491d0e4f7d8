"""Open folder: open a store by its folder or address, and recognize local mirrors of stores on an object store."""

from pathlib import Path

from docmill.storage.address import at_hand, mark_of
from docmill.storage.snapshots.history.folder import StoreFolder


def open_folder(store: str | Path | StoreFolder, mirrors: str | Path = "") -> StoreFolder:
    """Return the folder of a store, given its path or its address `s3://BUCKET/PREFIX`.

    The mirror of an address is below `mirrors` and created if it is missing. Nothing is fetched. Only this function
    decides whether a folder is a store or a mirror.
    """
    if isinstance(store, StoreFolder):
        return store
    root = at_hand(store, mirrors)
    mark = mark_of(root)
    if not mark:
        return StoreFolder(root)
    from docmill.storage.remote.mirror.mirrored_folder import MirrorFolder  # here, because few stores have a mirror

    return MirrorFolder(root, mark)
