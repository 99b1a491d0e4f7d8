"""Names of snapshots, tags and candidates: given and taken on the object store of a mirror first."""

from pathlib import Path

from docmill.storage.address import mark_of
from docmill.storage.objects.bucket import objects_of


def share_tag(root: Path, name: str, data: bytes) -> None:
    """Give a tag of a mirror to its object store; a folder that is no mirror has it alone."""
    if mark_of(root):
        objects_of(root).put_if_absent(f"tags/{name}.json", data)


def unshare(root: Path, folder: str, name: str) -> None:
    """Take a name from the object store of a mirror."""
    if mark_of(root):
        objects_of(root).delete([f"{folder}/{name}.json"])
