"""Picture files: pictures that a file names by paths, files of the same source; nothing else is read for it.

Which files these are is decided when a source is listed, so no name leads outside the source.
"""

import html
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from urllib.parse import unquote

from docmill.tasks.parse.pictures.addresses import Loader, of_data_uri
from docmill.tasks.parse.pictures.album import MOST_PICTURES

PAGE_BYTES = 16 << 20
"""Maximum bytes of a file that is searched for pictures. Pages of a megabyte are rare, and larger files are dumps."""
_Look = Callable[[bytes], Iterator[str]]
_LONGEST = 1_000  # characters of a name: no file system has longer paths by default
_IMAGE = re.compile(rb"<img\b[^<>]*?\ssrc\s*=\s*(?:\"([^\"<>]+)\"|'([^'<>]+)'|([^\s\"'<>]+))", re.IGNORECASE)
_ELSEWHERE = re.compile(rb"<base\s[^<>]*href", re.IGNORECASE)
"""Markup that makes a page's paths relative to another place."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ENDS = re.compile(r"[?#]")
_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff")
"""Suffixes of pictures among the names in markup, which names other files in the same way."""
_ADDED = _SUFFIXES[:3]  # added by LaTeX to a name without a suffix
_FOLDERS = re.compile(rb"\\graphicspath\s*\{((?:\s*+\{[^{}]*+\})++)|^:imagesdir:[ \t]*([^\r\n]++)", re.MULTILINE)
"""The folders in which LaTeX and AsciiDoc look for the pictures that a file names."""
_MARKDOWN = re.compile(
    rb"!\[(?:[^\[\]]++|\[[^\[\]]*+\])*+\]\(\s*(?:<([^<>\n]+)>|((?:[^\s()<>]|\([^\s()]*+\))++))"
    rb"|(?:^|(?<=\r)) {0,3}\[(?!\^)[^\[\]\n]++\]:[ \t]*<?([^\s<>]++)",
    re.MULTILINE,
)
_MARKUP = {
    ".rest .rst": re.compile(rb"\.\. (?:\|[^|\n]{1,200}\| *)?(?:image|figure)::[ \t]*([^\r\n]+)"),
    ".org": re.compile(rb"\[\[(?:file:)?([^\[\]\n]+)\]\]"),
    ".adoc .asciidoc": re.compile(rb"image::?([^\[\]\r\n:]++)\["),
    ".textile": re.compile(rb"!(?:[<>=]|\([^()\n]*+\)|\{[^{}\n]*+\})*+([^\s!()]++)(?:\([^()\n]*+\))?!"),
    ".typ": re.compile(rb"\bimage\(\s*\"([^\"\n]++)\""),
}
"""How a file names a picture, by the file's suffixes."""
_LATEX = re.compile(rb"\\includegraphics\*?\s*(?:\[[^\[\]]*+\]\s*)?\{([^{}]++)\}")


def names_in(name: str, data: bytes) -> tuple[str, ...]:
    """Return the names of the pictures that the file `name` shows if it is a page, as paths relative to its folder."""
    look = _LOOKS.get(PurePosixPath(name).suffix.lower())
    if look is None:
        return ()
    found = dict[str, None]()
    for path in filter(None, map(path_of, look(data))):
        found[path] = None
        if len(found) == MOST_PICTURES:
            break
    return tuple(found)


def may_show(name: str) -> bool:
    """Return whether a file with this name may show pictures stored beside it."""
    return PurePosixPath(name).suffix.lower() in _LOOKS


def path_of(address: str) -> str:
    """Return the path of a page's address, relative to the page's folder; "" if it leads elsewhere."""
    address = address.strip()
    path = unquote(_ENDS.split(address, maxsplit=1)[0])
    if not path or _SCHEME.match(address) or path.startswith("/") or len(path) > _LONGEST or not path.isprintable():
        return ""
    return posixpath.normpath(path)


def loader_beside(
    pictures: Mapping[str, bytes], data: bytes = b"", held: Mapping[str, bytes] = MappingProxyType({})
) -> Loader:
    """Return a loader of `data:` addresses, addresses in `held`, and pictures beside a file by their paths.

    `data`, the file's content, may name the pictures' folders.
    """
    folders = _folders(data) if pictures else ()

    def load(address: str) -> bytes | None:
        if address in held:
            return held[address]
        paths = _paths(address, folders) if pictures else ()
        return next((pictures[path] for path in paths if path in pictures), None) or of_data_uri(address)

    return load


def _paths(address: str, folders: Iterable[str] = ()) -> Iterator[str]:
    """Yield the paths that an address may mean, likeliest first."""
    path = path_of(address)
    suffixes = ("",) if not path or path.lower().endswith(_SUFFIXES) else ("", *_ADDED)
    for folder in (*folders, "") if path else ():
        yield from (posixpath.normpath(posixpath.join(folder, path + suffix)) for suffix in suffixes)


def _folders(data: bytes) -> list[str]:
    named = (one for found in _FOLDERS.findall(data) for one in re.split(rb"[{}\s]+", b" ".join(found)))
    return [folder for one in named if one and (folder := path_of(_text(one)))]


def _of_html(data: bytes) -> Iterator[str]:
    return iter(()) if _ELSEWHERE.search(data) else _of_tags(data)


def _of_tags(data: bytes) -> Iterator[str]:
    return (html.unescape(_text(next(filter(None, found)))) for found in _IMAGE.findall(data))


def _of_markdown(data: bytes) -> Iterator[str]:
    named = (html.unescape(_text(next(filter(None, found), b""))) for found in _MARKDOWN.findall(data))
    yield from (name for name in (*named, *_of_tags(data)) if path_of(name).lower().endswith(_SUFFIXES))


def _of_markup(names: re.Pattern[bytes]) -> _Look:
    def look(data: bytes) -> Iterator[str]:
        folders, ends = _folders(data), tuple(map(str.encode, _SUFFIXES))
        named = (found[1].strip() for found in names.finditer(data))
        return (path for name in named if name.lower().endswith(ends) for path in _paths(_text(name), folders))

    return look


def _of_latex(data: bytes) -> Iterator[str]:
    folders = _folders(data)
    named = (path for found in _LATEX.finditer(data) for path in _paths(_text(found[1].strip()), folders))
    return (path for path in named if path.lower().endswith(_SUFFIXES))


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return name.decode("latin-1")


_LOOKS: dict[str, _Look] = {
    **dict.fromkeys((".htm", ".html", ".shtml", ".xhtml"), _of_html),
    **dict.fromkeys((".markdown", ".md", ".mdown", ".mdx", ".mkd"), _of_markdown),
    **dict.fromkeys((".latex", ".ltx", ".tex"), _of_latex),
    **{suffix: _of_markup(names) for suffixes, names in _MARKUP.items() for suffix in suffixes.split()},
}
"""Finds the addresses of pictures in a file, by the file's suffix."""
