"""Opened picture: a kept picture as models of pictures look at it."""

import warnings
from io import BytesIO
from typing import Any

from docmill.storage.schema import KeptPicture

_LONGEST_SIDE = 1024
"""Pixels to which a picture is shrunk first. Models look at 224 to 512, and a page of 80 million takes a second."""


def opened(picture: KeptPicture) -> Any:
    """Return a picture on white paper, or None if it is damaged beyond what was seen when it was kept."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Pillow remarks on sizes, which were checked when the picture was kept
        try:
            image = Image.open(BytesIO(picture.data))
            image.draft("RGB", (_LONGEST_SIDE, _LONGEST_SIDE))
            shown = image.convert("RGBA")
            shown.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
            return Image.alpha_composite(Image.new("RGBA", shown.size, "white"), shown).convert("RGB")
        except Exception:  # Pillow raises whatever a damaged file leads its decoders to
            return None
