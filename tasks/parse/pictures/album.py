"""Album: the pictures of one document, identified by their headers, each kept once, with limits on number and bytes."""

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any, NamedTuple

from docmill.storage.keys import hash_bytes
from docmill.storage.schema import KeptPicture, Parsed
from docmill.tasks.parse.passes.drawn_block import DrawnBlock

LEFT_OUT = "figures_left_out"
"""The metadata with the number of pictures that are not figures, by reason."""
MOST_PICTURES = 1_000
"""Maximum figures of a document: a large manual has a few hundred; more are map tiles or icons of a catalogue."""
MOST_BYTES = 100_000_000  # of a document's pictures, which a worker process holds at once and returns in one message
REPEATED = 3
"""Number of places that show the same picture from which it counts as decoration, such as a logo at the top of each
page. An author who repeats a figure shows it twice."""
MAX_BYTES = 20_000_000
"""Maximum bytes of a kept picture: a photograph from a good camera has 15 million, and every reader loads it whole."""
MAX_PIXELS = 80_000_000  # as many as `parse_image` reads: a sheet of A3 at 600 dots per inch has 70 million
LEAST_SIDE = 24
"""Minimum pixels of the shorter side of a figure. Bullets, rules, spacers and most icons have fewer; charts and
photographs with any content have more."""
_KEPT = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
"""The types that are kept unchanged: all browsers and vision models read them, and none of them can run scripts."""
_WRITTEN_AS_PNG = ("BMP", "TIFF")
FORMATS = (*_KEPT, *_WRITTEN_AS_PNG)


class Unkept(NamedTuple):
    """Why a picture is not a figure: `decoration`, `too_large`, `broken` or `unread` (a type that is not read)."""

    why: str


class Album:
    """The pictures of a document by their keys, and the reasons why others are left out."""

    def __init__(self) -> None:
        self._kept: dict[str, KeptPicture] = {}
        self._bytes = 0
        self.left_out: Counter[str] = Counter()

    def get(self, key: str) -> KeptPicture | None:
        """Return the picture with a key, or None if the album does not have it."""
        return self._kept.get(key)

    def add(self, data: bytes, key: str = "") -> KeptPicture | None:
        """Return a picture of the document as it is kept, or None after recording why it is not.

        `key` is the key of the document's own picture if `data` was made from it.
        """
        found = look_at(data)
        if isinstance(found, KeptPicture):
            found = self._held(replace(found, key=key or found.key))
        if isinstance(found, Unkept):
            self.left_out[found.why] += 1
            return None
        return found

    def take(self, part: Parsed) -> None:
        """Keep the pictures of a part that was read as a document of its own, and count the ones that it left out."""
        self.left_out.update(part.metadata.get(LEFT_OUT, {}))
        for one in part.pictures:
            if isinstance(self._held(one), Unkept):
                self.left_out["too_many"] += 1

    def _held(self, picture: KeptPicture) -> KeptPicture | Unkept:
        if picture.key not in self._kept:
            if len(self._kept) >= MOST_PICTURES or self._bytes + len(picture.data) > MOST_BYTES:
                return Unkept("too_many")
            self._kept[picture.key] = picture
            self._bytes += len(picture.data)
        return self._kept[picture.key]

    def without_decoration(self, blocks: Sequence[DrawnBlock]) -> list[DrawnBlock]:
        """Return blocks without pictures that are shown in many places or could not be kept.

        A figure that became furniture is decoration, too.
        """
        shown = Counter(filter(None, map(key_of_block, blocks)))
        if not shown:
            return list(blocks)
        repeated = {key for key, count in shown.items() if count >= REPEATED}
        absent = shown.keys() - self._kept.keys()
        kept = [one for one in blocks if not _is_decoration(one, repeated)]
        self.left_out["decoration"] += len(blocks) - len(kept)
        self.left_out += Counter()  # removes zero counts
        return [one for one in kept if key_of_block(one) not in absent]

    def shown(self, blocks: Iterable[DrawnBlock]) -> tuple[KeptPicture, ...]:
        """Return the pictures of blocks, each once."""
        keys = dict.fromkeys(filter(None, map(key_of_block, blocks)))
        return tuple(self._kept[key] for key in keys)


def key_of_block(block: DrawnBlock) -> str:
    """Return the key of a figure's picture, or "" for any other block; a figure may have become furniture."""
    return str(block.attributes.get("key", "")) if block.kind in ("figure", "furniture") else ""


def _is_decoration(block: DrawnBlock, repeated: set[str]) -> bool:
    key = key_of_block(block)
    return bool(key) and (block.kind == "furniture" or key in repeated)


def look_at(data: bytes) -> KeptPicture | Unkept:
    """Return a picture as it is kept, or why it is not; this never raises, whatever the picture's bytes are."""
    from PIL import Image, UnidentifiedImageError

    if not data:
        return Unkept("broken")
    if len(data) > MAX_BYTES:
        return Unkept("too_large")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns about sizes and broken metadata
        try:
            image = Image.open(BytesIO(data), formats=FORMATS)
            return _kept(image, data)
        except UnidentifiedImageError:
            return Unkept("unread")
        except Image.DecompressionBombError:
            return Unkept("too_large")
        except Exception:  # on damaged files, Pillow's decoders may raise anything
            return Unkept("broken")


def _kept(image: Any, data: bytes) -> KeptPicture | Unkept:
    width, height = image.size
    if width * height > MAX_PIXELS:
        return Unkept("too_large")
    if min(width, height) < LEAST_SIDE:
        return Unkept("decoration")
    key, kind = hash_bytes(data), _KEPT.get(image.format)
    if kind is None:
        written = BytesIO()
        image.convert("RGBA" if image.has_transparency_data else "RGB").save(written, "PNG")
        return KeptPicture(key, _KEPT["PNG"], width, height, written.getvalue())
    if image.format == "PNG":
        image.verify()  # the checksums of its parts; other types have none
    return KeptPicture(key, kind, width, height, data)
