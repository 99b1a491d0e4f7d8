"""Office parts: the XML of a part of an Open XML container, and its relationships."""

import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from docmill.tasks.parse.pictures.addresses import Loader, within
from docmill.tasks.parse.pictures.picture_file import MAX_BYTES
from docmill.tasks.parse.trees import xml_tree


def read_part(container: zipfile.ZipFile, part: str) -> Any:
    """Return the root of a part; entities are not expanded, and nothing is fetched."""
    return xml_tree(container.read(part))


def links_of(container: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Return the parts that a part refers to, by relationship id: kind and path."""
    found = {}
    folder = "/" + posixpath.dirname(part)  # to which targets are relative, unless they begin at the root
    for node in _relationships(container, part):
        target = posixpath.normpath(posixpath.join(folder, node.get("Target") or "")).lstrip("/")
        if node.get("TargetMode") != "External" and target in container.NameToInfo:
            # What precedes the last segment of a type differs between variants of the format.
            found[node.get("Id") or ""] = ((node.get("Type") or "").rpartition("/")[2], target)
    return found


def addresses_of(container: zipfile.ZipFile, part: str) -> dict[str, str]:
    """Return the URLs that a part links to, by relationship id."""
    nodes = _relationships(container, part)
    return {node.get("Id") or "": node.get("Target") or "" for node in nodes if _is_address(node)}


def _relationships(container: zipfile.ZipFile, part: str) -> Iterator[Any]:
    """Yield the relationships of a part, internal and external."""
    folder, name = posixpath.split(part)
    path = f"{folder}/_rels/{name}.rels"
    if path in container.NameToInfo:
        yield from read_part(container, path).iter("{*}Relationship")


def _is_address(relationship: Any) -> bool:
    """Return whether a relationship is an external link."""
    if relationship.get("TargetMode") != "External" or not (relationship.get("Type") or "").endswith("/hyperlink"):
        return False
    return not (relationship.get("Target") or "#").startswith("#")


def pictures_in(container: zipfile.ZipFile, folder: str = "") -> Loader:
    """Return what loads the pictures of a container, by their paths from one of its folders or from its root."""

    def read(path: str) -> bytes | None:
        for start in (folder, ""):
            name = posixpath.normpath(posixpath.join("/", start, path)).lstrip("/")
            if name in container.NameToInfo:
                return _some_of(container, name)
        return None

    return within(read)


def _some_of(container: zipfile.ZipFile, name: str) -> bytes:
    """Return the content of a member, cut where a picture is too large anyway; nothing of a damaged one."""
    try:
        with container.open(name) as file:
            return file.read(MAX_BYTES + 1)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError):
        return b""


def linked(links: dict[str, tuple[str, str]], kind: str) -> list[str]:
    """Return the paths of the linked parts of a kind, in order."""
    return [target for found, target in links.values() if found == kind]


def reference(node: Any, name: str = "id") -> str:
    """Return the relationship id in an attribute; its namespace depends on the format's variant."""
    return next((value for key, value in node.attrib.items() if key.endswith("}" + name)), "")
