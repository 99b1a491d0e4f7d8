"""Picture encoder: pictures and words to vectors of one space, by a model such as CLIP; loaded once in a process."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import ConfigError
from docmill.storage.keys import key_of
from docmill.storage.schema import KeptPicture
from docmill.storage.search.encode.api.api_address import is_api, parse_address
from docmill.storage.search.encode.encoder import quiet
from docmill.storage.search.encode.rankers.model_files import space_of_files
from docmill.storage.search.encode.space import model_dir
from docmill.storage.search.encode.text_encoder import unit
from docmill.storage.search.pictures.opened_picture import opened

_VERSION = 1  # raise it when the same picture gets another vector


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
        shown = {at: image for at, one in enumerate(pictures) if (image := opened(one)) is not None}
        if shown:
            vectors[[*shown]] = self._encoded([*shown.values()])
        return vectors

    def encode_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return float32 (dim,), of unit L2 norm; of a long text, the model reads the beginning."""
        vector: npt.NDArray[np.float32] = self._encoded([text])[0]
        return vector

    def _encoded(self, given: list[Any]) -> npt.NDArray[np.float32]:
        found = np.asarray(self._model.encode(given, show_progress_bar=False), np.float32)
        return unit(found.reshape(len(given), -1))


class PicturesAndTexts(Protocol):
    """A model of pictures and texts, wherever it is."""

    def encode_pictures(self, pictures: Sequence[KeptPicture]) -> npt.NDArray[np.float32]:
        """Return float32 (n, dim), rows of unit L2 norm, of zeros for a picture that cannot be read."""
        ...

    def encode_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return float32 (dim,), of unit L2 norm."""
        ...


def picture_space(name: str) -> str:
    """Return the id of the space of a model's vectors, which differs if any file of the model does."""
    if is_api(name):
        return key_of("picture space", _VERSION, parse_address(name).identity)
    return space_of_files("picture space", _VERSION, name)


def load_picture_encoder(name: str, space: str) -> PicturesAndTexts:
    """Return the encoder of a folder, a hub name or a model by API.

    The space tells it from what the folder held before. Raises `ConfigError` if there is none.
    """
    if is_api(name):
        from docmill.storage.search.pictures.api_pictures import api_pictures

        return api_pictures(name)
    return _loaded(name, space)


@cache
def _loaded(name: str, space: str) -> PictureEncoder:
    del space
    return PictureEncoder(name)
