"""Foreign address: what to say of an address that nothing here reads, and what to do instead."""

import re

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")
_NOT_YET = {
    "abfs": ("Azure Data Lake Storage", "rclone copy"),
    "abfss": ("Azure Data Lake Storage", "rclone copy"),
    "hdfs": ("Hadoop's file system", "hdfs dfs -get"),
    "sftp": ("another machine", "rsync --archive"),
    "ssh": ("another machine", "rsync --archive"),
}
"""What each scheme names, and a program that brings its files into a folder."""
_SOURCES_ALONE = ("gs", "az", "r2", "https", "http")
"""Schemes of sources that have no place for a store."""
_IN_SETTINGS = {
    **dict.fromkeys(("postgresql", "postgres", "mysql", "mariadb", "sqlite", "duckdb"), "sql"),
    **dict.fromkeys(("imap", "imaps", "mbox", "maildir"), "mail"),
}
"""Schemes of what the settings of a source name, and the kind of that source."""
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
