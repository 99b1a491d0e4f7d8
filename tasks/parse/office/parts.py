"""Parts of an Office Open XML container: their XML, and what they refer to."""

import posixpath
import zipfile
from typing import Any

from lxml import etree


def read_part(container: zipfile.ZipFile, part: str) -> Any:
    """Return the root of a part; no entity is expanded and nothing fetched."""
    return etree.fromstring(container.read(part), etree.XMLParser(resolve_entities=False, no_network=True))


def links_of(container: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Return what a part refers to inside of the container: kind and path, by their identifiers."""
    folder, name = posixpath.split(part)
    path = f"{folder}/_rels/{name}.rels"
    if path not in container.NameToInfo:
        return {}
    found = {}
    for node in read_part(container, path).iter("{*}Relationship"):
        target = posixpath.normpath(posixpath.join("/" + folder, node.get("Target") or "")).lstrip("/")
        if node.get("TargetMode") != "External" and target in container.NameToInfo:
            found[node.get("Id") or ""] = ((node.get("Type") or "").rpartition("/")[2], target)
    return found


def addresses_of(container: zipfile.ZipFile, part: str) -> dict[str, str]:
    """Return the addresses that a part links to, by their identifiers."""
    folder, name = posixpath.split(part)
    path = f"{folder}/_rels/{name}.rels"
    if path not in container.NameToInfo:
        return {}
    nodes = read_part(container, path).iter("{*}Relationship")
    return {
        node.get("Id") or "": node.get("Target") or ""
        for node in nodes
        if node.get("TargetMode") == "External"
        and (node.get("Type") or "").endswith("/hyperlink")
        and not (node.get("Target") or "#").startswith("#")
    }


def linked(links: dict[str, tuple[str, str]], kind: str) -> list[str]:
    """Return the paths of the parts of a kind that are referred to, in order."""
    return [target for found, target in links.values() if found == kind]


def reference(node: Any, name: str = "id") -> str:
    """Return the identifier by which an element refers to a part; its namespace differs between variants."""
    return next((value for key, value in node.attrib.items() if key.endswith("}" + name)), "")


def whole(text: str | None, otherwise: int) -> int:
    """Return a whole number, or `otherwise` for what is none."""
    try:
        return int(text) if text else otherwise
    except ValueError:
        return otherwise
