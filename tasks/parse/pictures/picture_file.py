"""Picture file: look at the bytes of a picture, by its header alone where that is enough."""

import warnings
from io import BytesIO
from typing import Any, NamedTuple

from docmill.storage.keys import hash_bytes
from docmill.storage.schema import KeptPicture

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
