"""Picture encoder: pictures and words to vectors of one space, by a model such as CLIP; loaded once in a process."""

import warnings
from collections.abc import Sequence
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from docmill.storage.embedding.encoder import quiet
from docmill.storage.embedding.rankers.model_files import space_of_files
from docmill.storage.embedding.space import model_dir
from docmill.storage.embedding.text_encoder import unit
from docmill.storage.errors import ConfigError
from docmill.storage.schema import KeptPicture

_VERSION = 1  # raise it when the same picture gets another vector
_LONGEST_SIDE = 1024
"""Pixels to which a picture is shrunk first. Models look at 224 to 512, and a page of 80 million takes a second."""


class PictureEncoder:
    """A model of sentence-transformers that takes pictures and texts."""

    def __init__(self, name: str) -> None:
        folder = model_dir(name)
        quiet()
        try:
            from PIL import Image
            from sentence_transformers import SentenceTransformer

            self._model = SentenceTransformer(str(folder), local_files_only=True).eval()
            blank = Image.new("RGB", (32, 32), "white")
            self.dimension = self._encoded([blank]).shape[1]
            fits = self._encoded(["a picture"]).shape[1] == self.dimension
        except Exception as error:  # each file of the folder can fail in its own way; a model of texts takes no picture
            raise ConfigError(f"{name!r} cannot be loaded as a model of pictures and texts: {error}") from error
        if not fits:
            raise ConfigError(f"{name!r} has other vectors for texts than for pictures; name a model such as CLIP")

    def encode_pictures(self, pictures: Sequence[KeptPicture]) -> npt.NDArray[np.float32]:
        """Return float32 (n, dim), rows of unit L2 norm, of zeros for a picture that cannot be read."""
        vectors = np.zeros((len(pictures), self.dimension), np.float32)
        opened = {at: image for at, one in enumerate(pictures) if (image := _opened(one)) is not None}
        if opened:
            vectors[[*opened]] = self._encoded([*opened.values()])
        return vectors

    def encode_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return float32 (dim,), of unit L2 norm; of a long text, the model reads the beginning."""
        vector: npt.NDArray[np.float32] = self._encoded([text])[0]
        return vector

    def _encoded(self, given: list[Any]) -> npt.NDArray[np.float32]:
        found = np.asarray(self._model.encode(given, show_progress_bar=False), np.float32)
        return unit(found.reshape(len(given), -1))


def _opened(picture: KeptPicture) -> Any:
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


def picture_space(name: str) -> str:
    """Return the id of the space of a model's vectors, which differs if any file of the model does."""
    return space_of_files("picture space", _VERSION, name)


@cache
def load_picture_encoder(name: str, space: str) -> PictureEncoder:
    """Return the encoder of a folder or a hub name, whose space tells it from what the folder held before.

    Raises `ConfigError` if there is none.
    """
    del space
    return PictureEncoder(name)
