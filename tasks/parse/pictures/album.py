"""Album: the pictures of one document, told by their headers, each kept once, with bounds on number and bytes."""

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
"""The metadata with the number of pictures that are no figures, by why."""
MOST_PICTURES = 1_000
"""Figures of a document: a large manual has some hundred; more are tiles of a map or the icons of a catalogue."""
MOST_BYTES = 100_000_000  # of a document's pictures, which a worker process holds at once and hands over in one message
REPEATED = 3
"""Places of a document that show one picture from which on it is decoration, such as a logo at the top of each page.
An author who shows a figure again shows it twice."""
MAX_BYTES = 20_000_000
"""Bytes of a picture that is kept: a photograph of a good camera has 15 million, and every reader loads it whole."""
MAX_PIXELS = 80_000_000  # as many as `parse_image` reads: a sheet of A3 at 600 dots an inch has 70 million
LEAST_SIDE = 24
"""Pixels of the shorter side of a figure. Bullets, rules, spacers and most icons have fewer; a chart or a photograph
that shows anything has more."""
_KEPT = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
"""The types that are kept as they are: all browsers and vision models read them, and none of them runs scripts."""
_WRITTEN_AS_PNG = ("BMP", "TIFF")
FORMATS = (*_KEPT, *_WRITTEN_AS_PNG)


class Unkept(NamedTuple):
    """Why a picture is no figure: `decoration`, `too_large`, `broken` or `unread`, which is a type that is not read."""

    why: str


class Album:
    """The pictures of a document by their keys, and why others are left out."""

    def __init__(self) -> None:
        self._kept: dict[str, KeptPicture] = {}
        self._bytes = 0
        self.left_out: Counter[str] = Counter()

    def get(self, key: str) -> KeptPicture | None:
        """Return the picture of a key, or None if the album has none."""
        return self._kept.get(key)

    def add(self, data: bytes, key: str = "") -> KeptPicture | None:
        """Return a picture of the document as it is kept, or None after noting why it is not.

        `key` is that of what the document holds, where `data` was made of it.
        """
        found = look_at(data)
        if isinstance(found, KeptPicture):
            found = self._held(replace(found, key=key or found.key))
        if isinstance(found, Unkept):
            self.left_out[found.why] += 1
            return None
        return found

    def take(self, part: Parsed) -> None:
        """Keep the pictures of a part that has been read as a document of its own, and count those left out of it."""
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
        """Return blocks without the pictures that many places show, and without those that could not be kept.

        A figure that has become furniture is decoration, too.
        """
        shown = Counter(filter(None, map(key_of_block, blocks)))
        if not shown:
            return list(blocks)
        repeated = {key for key, count in shown.items() if count >= REPEATED}
        absent = shown.keys() - self._kept.keys()
        kept = [one for one in blocks if not _is_decoration(one, repeated)]
        self.left_out["decoration"] += len(blocks) - len(kept)
        self.left_out += Counter()  # without a zero
        return [one for one in kept if key_of_block(one) not in absent]

    def shown(self, blocks: Iterable[DrawnBlock]) -> tuple[KeptPicture, ...]:
        """Return the pictures of blocks, each once."""
        keys = dict.fromkeys(filter(None, map(key_of_block, blocks)))
        return tuple(self._kept[key] for key in keys)


def key_of_block(block: DrawnBlock) -> str:
    """Return the key of a figure's picture, "" for any other block; a figure may have been made furniture."""
    return str(block.attributes.get("key", "")) if block.kind in ("figure", "furniture") else ""


def _is_decoration(block: DrawnBlock, repeated: set[str]) -> bool:
    key = key_of_block(block)
    return bool(key) and (block.kind == "furniture" or key in repeated)


def look_at(data: bytes) -> KeptPicture | Unkept:
    """Return a picture as it is kept, or why it is not; no picture raises, whatever its bytes are."""
    from PIL import Image, UnidentifiedImageError

    if not data:
        return Unkept("broken")
    if len(data) > MAX_BYTES:
        return Unkept("too_large")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Pillow remarks on sizes and broken metadata
        try:
            image = Image.open(BytesIO(data), formats=FORMATS)
            return _kept(image, data)
        except UnidentifiedImageError:
            return Unkept("unread")
        except Image.DecompressionBombError:
            return Unkept("too_large")
        except Exception:  # Pillow raises whatever a damaged file leads its decoders to
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
        image.verify()  # the checksums of its parts; the other types have none
    return KeptPicture(key, kind, width, height, data)
