"""Sent picture: a picture as it is sent to a language model: no larger than models look at."""

import warnings
from base64 import b64encode
from io import BytesIO

from docmill.storage.errors import Terminal
from docmill.storage.schema import KeptPicture
from docmill.tasks.model.completion import SentPicture

LONGEST_SIDE = 1024
"""Pixels of a side. Providers shrink larger pictures to between 768 and 1,568, and charge by the pixel; the words of a
chart that fills a page can still be read."""
_MOST_BYTES = 3_500_000  # of a file that is sent as it is: Anthropic takes 5 MB in base64, a third more than the file
_QUALITY = 90  # of a JPEG: at less, small letters blur


def sent(picture: KeptPicture | None) -> SentPicture:
    """Return a picture as it is sent; raise `Terminal` if there is none, or if it cannot be read."""
    if picture is None:
        raise Terminal("the picture is not in the store; see: docmill verify")
    data, media_type = picture.data, picture.media_type
    if max(picture.width, picture.height) > LONGEST_SIDE or len(data) > _MOST_BYTES:
        data, media_type = _shrunk(picture), "image/jpeg"
    return SentPicture(media_type, b64encode(data).decode())


def _shrunk(picture: KeptPicture) -> bytes:
    from PIL import Image

    written = BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Pillow remarks on sizes, which were checked when the picture was kept
        try:
            image = Image.open(BytesIO(picture.data)).convert("RGBA")
            image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
            white = Image.new("RGBA", image.size, "white")
            Image.alpha_composite(white, image).convert("RGB").save(written, "JPEG", quality=_QUALITY)
        except Exception as error:  # Pillow raises whatever a damaged file leads its decoders to
            raise Terminal(f"picture {picture.key} cannot be read: {error}") from error
    return written.getvalue()
