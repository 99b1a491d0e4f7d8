"""Export files: the files of an export by name; it may be a folder, an archive, or several archives in a folder."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docmill.storage.errors import SourceError
from docmill.storage.keys import key_of
from docmill.tasks.archive.archive_options import Account, ArchiveOptions, Share
from docmill.tasks.archive.listing import explained
from docmill.tasks.archive.member_names import inner_path
from docmill.tasks.archive.open_archives import Container, opened
from docmill.tasks.paths.local_file import LocalFile
from docmill.tasks.work.pool.temporary_folder import folder_of

_ARCHIVES = (".zip", ".tgz", ".tar.gz", ".tar")
_MOST_FILES = 1_000_000
"""Files of an export: personal accounts have tens of thousands, a zip bomb any number."""


class ExportFiles(Mapping[str, Path]):
    """The paths of the files by their names in the export; archives are unpacked into a folder that goes with this.

    Archives at the top of the export, into which some services pack its parts, are unpacked in place. Raise
    `SourceError` for one that is damaged, encrypted, or unpacks to more than `most_bytes`.
    """

    def __init__(self, path: Path, most_bytes: int) -> None:
        self._account = Account(ArchiveOptions(members=_MOST_FILES, total_bytes=most_bytes, member_bytes=most_bytes))
        self._folder = folder_of(self)
        self._paths: dict[str, Path] = {}
        if path.is_dir():
            self._paths = {name: path / name for name in _names(path)}
        else:
            self._unpack(path)
        for name in [name for name in self._paths if "/" not in name and name.lower().endswith(_ARCHIVES)]:
            self._unpack(self._paths.pop(name))

    def __getitem__(self, name: str) -> Path:
        return self._paths[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._paths))

    def __len__(self) -> int:
        return len(self._paths)

    def _unpack(self, path: Path) -> None:
        """Unpack the files of an archive into the folder."""
        file = LocalFile(str(path))
        try:
            with opened(Container(path.name, file), Share(self._account, file.size())) as found:
                if found is None or found.kind != "archive":
                    raise SourceError(f"{path.name} is no archive and no folder (path)")
                for member in found.members:
                    self._account.member()
                    if not member.skip:
                        self._lay(inner_path(member.name), member.read())
        except SourceError:
            raise
        except Exception as error:
            raise SourceError(f"{path.name}: {explained(error).message}") from None

    def _lay(self, name: str, pieces: Iterator[bytes]) -> None:
        path = self._folder / key_of(name)  # a name may be longer than file systems allow
        with path.open("wb") as file:
            for piece in pieces:
                file.write(piece)
        self._paths[name] = path


def state_of(path: Path) -> str:
    """Return a text that changes whenever an export changes; raise `SourceError` if the export does not exist."""
    try:
        files = [path / name for name in _names(path)] if path.is_dir() else [path]
        states = ((str(file.relative_to(path)), file.stat()) for file in files)
        return key_of(*(f"{name} {found.st_size} {found.st_mtime_ns}" for name, found in states))
    except OSError as error:
        raise SourceError(f"the export {path} cannot be read: {error.strerror}") from None


def _names(folder: Path) -> list[str]:
    """Return the names of the files below a folder, except links, which may lead anywhere."""
    found = []
    for place, folders, files in os.walk(folder):
        above = Path(place)
        folders[:] = sorted(one for one in folders if not (above / one).is_symlink())
        paths = (above / one for one in sorted(files))
        found += [path.relative_to(folder).as_posix() for path in paths if path.is_file() and not path.is_symlink()]
    return found


def read_json(files: Mapping[str, Path], name: str) -> Any:
    """Return the value in a JSON file of an export, or None if the file is missing or damaged."""
    try:
        return json.loads(read_text(files, name)) if name in files else None
    except ValueError:
        return None


def read_text(files: Mapping[str, Path], name: str) -> str:
    """Return the text of a file of an export."""
    return files[name].read_bytes().decode("utf-8-sig", "replace")
