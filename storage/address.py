"""Where a store is: a folder, or a prefix on an object store whose mirror is a folder.

A mirror says in `remote.json` what it is a mirror of. Endpoint, region and credentials come from the AWS environment
variables only and are written nowhere.
"""

import json
import os
import re
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from docmill.storage.errors import ConfigError, StoreError
from docmill.storage.files import put_if_absent, write_whole
from docmill.storage.keys import key_of

MARKER = "remote.json"
VARIABLE = "DOCMILL_MIRRORS"
_URL = re.compile(r"s3:/{1,2}(?P<bucket>[^/]+)(?:/+(?P<prefix>.*?))?/*")  # a `Path` makes one slash of two


@dataclass(frozen=True, slots=True)
class MirrorMark:
    """What a mirror is: of which address, under which name of its own, and of which of the stores ever there."""

    url: str
    mirror: str
    store: str = ""


def url_of(store: str | Path) -> str | None:
    """Return the address `s3://BUCKET/PREFIX` of a store on an object store, None for a folder."""
    found = _URL.fullmatch(str(store))
    if found is None:
        if str(store).startswith("s3:"):
            raise ConfigError(f"a store on an object store is s3://BUCKET/PREFIX, got {str(store)!r}")
        return None
    return "/".join(filter(None, (f"s3://{found['bucket']}", found["prefix"])))


def is_address(name: str) -> bool:
    """Say whether a name is an address on an object store, and not a path."""
    return name.startswith("s3://")


def absolute(store: str | Path) -> str:
    """Return a name of a store that means the same in any working folder."""
    return url_of(store) or str(Path(store).absolute())


def at_hand(store: str | Path, mirrors: str | Path = "") -> Path:
    """Return the folder of a store: itself, or its mirror below `mirrors`, which is made where it is missing.

    Without `mirrors` they lie where `DOCMILL_MIRRORS` says, else in the user's cache folder. Nothing is fetched.
    """
    url = url_of(store)
    if url is None:
        return Path(store)
    above = Path(mirrors or os.environ.get(VARIABLE) or _cache()).expanduser()
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    root = above / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', url.removeprefix('s3://'))[-60:]}-{key_of(url, endpoint)[:8]}"
    if not (root / MARKER).exists():
        put_if_absent(root / MARKER, json.dumps(asdict(MirrorMark(url, secrets.token_hex(8)))).encode())
    return root


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "docmill"


def mark_of(root: Path) -> MirrorMark | None:
    """Return what a folder is a mirror of, None for one that is a store itself."""
    try:
        data = (root / MARKER).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return MirrorMark(**json.loads(data))
    except (ValueError, TypeError) as error:
        raise StoreError(f"{root / MARKER}: {error}; remove {root}, which only mirrors an object store") from error


def belong(root: Path, mark: MirrorMark, store: str) -> None:
    """Note of which store a mirror is."""
    write_whole(root / MARKER, json.dumps(asdict(replace(mark, store=store))).encode())
