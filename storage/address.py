"""Address: the location of a store, which is a folder or a prefix on an object store with a local mirror.

A mirror records in `remote.json` which store it mirrors. Endpoint, region and credentials come from the AWS
environment variables only and are never written to disk.
"""

import json
import os
import re
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from docmill.storage.errors import ConfigError, StoreError
from docmill.storage.files import OWNER_ONLY, put_if_absent, write_whole
from docmill.storage.keys import key_of
from docmill.storage.name_grammar import fault, shown, steps

MARKER = "remote.json"
VARIABLE = "DOCMILL_MIRRORS"
_URL = re.compile(r"s3:/{1,2}(?P<rest>[^/].*)", re.DOTALL)  # a `Path` turns two slashes into one
_BUCKET = re.compile(r"(?P<scheme>[a-z0-9]+)://(?P<bucket>[^/]+)(?:/+(?P<prefix>.*?))?/*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MirrorMark:
    """The identity of a mirror: the address of its store, its own name, and the id of the store at that address."""

    url: str
    mirror: str
    store: str = ""


def url_of(store: str | Path) -> str | None:
    """Return the address `s3://BUCKET/PREFIX` of a store on an object store, or None for a folder."""
    found = _URL.fullmatch(str(store))
    if found is None:
        if str(store).startswith("s3:"):
            raise ConfigError(f"a store on an object store is s3://BUCKET/PREFIX, got {str(store)!r}")
        if why := why_foreign(str(store)):
            raise ConfigError(f"{store} cannot be a store: {why}")
        return None
    return bucket_url(f"s3://{found['rest']}")


def bucket_url(address: str) -> str:
    """Return the normalized address `SCHEME://BUCKET/PREFIX` of objects; raise `ConfigError` for another one."""
    found = _BUCKET.fullmatch(address)
    if found is None:
        raise ConfigError(f"objects are at SCHEME://BUCKET/PREFIX, got {shown(address)}")
    prefix = found["prefix"] or ""
    if "/".join(steps(prefix)) != prefix or (prefix and fault(prefix)) or not prefix.isprintable():
        raise ConfigError(f"the prefix of an address is a plain path without '.', '..' and '//', got {shown(prefix)}")
    return "/".join(filter(None, (f"{found['scheme']}://{found['bucket']}", prefix)))


def is_address(name: str) -> bool:
    """Return whether a name is an address on an object store rather than a path."""
    return name.startswith("s3://")


def absolute(store: str | Path) -> str:
    """Return the name of a store in a form that does not depend on the working folder."""
    return url_of(store) or str(Path(store).absolute())


def at_hand(store: str | Path, mirrors: str | Path = "") -> Path:
    """Return the local folder of a store: the store itself, or its mirror, which is created if it is missing.

    Mirrors are kept below `mirrors`, else below `DOCMILL_MIRRORS`, else in the user's cache folder. Nothing is fetched.
    """
    url = url_of(store)
    if url is None:
        return Path(store)
    above = Path(mirrors or os.environ.get(VARIABLE) or user_cache()).expanduser()
    # Two servers may have a bucket of the same name; they must not share a mirror.
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    root = above / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', url.removeprefix('s3://'))[-60:]}-{key_of(url, endpoint)[:8]}"
    if not (root / MARKER).exists():
        root.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
        # Two processes may create the same mirror; the first name is used.
        put_if_absent(root / MARKER, json.dumps(asdict(MirrorMark(url, secrets.token_hex(8)))).encode())
    return root


def user_cache() -> Path:
    """Return docmill's folder in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "docmill"


def mark_of(root: Path) -> MirrorMark | None:
    """Return which store a folder mirrors, or None for a folder that is itself a store."""
    try:
        data = (root / MARKER).read_bytes()
    # A file in place of a folder is no mirror; opening it as a store reports this.
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return MirrorMark(**json.loads(data))
    except (ValueError, TypeError) as error:
        raise StoreError(f"{root / MARKER}: {error}; remove {root}, which only mirrors an object store") from error


def belong(root: Path, mark: MirrorMark, store: str) -> None:
    """Record which store a mirror follows."""
    write_whole(root / MARKER, json.dumps(asdict(replace(mark, store=store))).encode())


_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")
_NOT_YET = {
    "abfs": ("Azure Data Lake Storage", "rclone copy"),
    "abfss": ("Azure Data Lake Storage", "rclone copy"),
    "hdfs": ("Hadoop's file system", "hdfs dfs -get"),
    "sftp": ("another machine", "rsync --archive"),
    "ssh": ("another machine", "rsync --archive"),
}
"""What each scheme names, and a program that copies its files into a folder."""
_SOURCES_ALONE = ("gs", "az", "r2", "https", "http")
"""Schemes of sources that cannot contain a store."""
_IN_SETTINGS = {
    **dict.fromkeys(("postgresql", "postgres", "mysql", "mariadb", "sqlite", "duckdb"), "sql"),
    **dict.fromkeys(("imap", "imaps", "mbox", "maildir"), "mail"),
}
"""Schemes that belong into the settings of a source, with the kind of that source."""
_SPELLED_OTHERWISE = {
    "file": "write the path without file://",
    "s3a": "write s3://BUCKET/PREFIX",
    "s3n": "write s3://BUCKET/PREFIX",
}


def why_foreign(name: str) -> str:
    """Return why an address cannot be used and what can be done, or "" for a path and for `s3://`."""
    found = _SCHEME.match(name)
    scheme = found["scheme"].lower() if found else ""
    if not scheme or name.startswith("s3://"):
        return ""
    if scheme == "s3":
        return "write s3:// in small letters"
    if scheme in _SPELLED_OTHERWISE:
        return _SPELLED_OTHERWISE[scheme]
    if kind := _IN_SETTINGS.get(scheme):
        return f"a source {kind}://NAME reads it; `docmill init --source {kind}` writes its settings"
    if scheme in _SOURCES_ALONE:
        return f"{scheme}:// can be a source, and no store"
    what, program = _NOT_YET.get(scheme, ("", ""))
    nothing = f"nothing reads {scheme}:// {f'({what}) ' if what else ''}yet"
    return f"{nothing}; bring its files into a folder{f', as with `{program}`' if program else ''}, or take s3://"
