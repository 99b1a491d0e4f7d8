"""Picture encoder: turn pictures and texts into vectors of one space by a model such as CLIP; loaded once per process.

A model behind an API is sent each picture only once, in the format of vLLM: a chat message with just the picture. Texts
are sent as to any embedding model.
"""

import warnings
from base64 import b64encode
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import ConfigError, StoreError, Terminal
from docmill.storage.keys import key_of
from docmill.storage.process.computed_once import computed_once
from docmill.storage.schema import KeptPicture
from docmill.storage.search.encode.api.api_address import ApiAddress, allowed, is_api, parse_address
from docmill.storage.search.encode.api.embedding_server import Embedded, EmbeddingServer, Payer
from docmill.storage.search.encode.api.kept_vectors import KeptVectors
from docmill.storage.search.encode.api.same_model import TOLERANCE
from docmill.storage.search.encode.encoder import quiet
from docmill.storage.search.encode.space import cache_file, model_dir, space_of_files
from docmill.storage.search.encode.text_encoder import unit

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
        except Exception as error:  # each file of the folder can fail in its own way; text models accept no pictures
            raise ConfigError(f"{name!r} cannot be loaded as a model of pictures and texts: {error}") from error
        if not fits:
            raise ConfigError(f"{name!r} has other vectors for texts than for pictures; name a model such as CLIP")

    def encode_pictures(self, pictures: Sequence[KeptPicture]) -> npt.NDArray[np.float32]:
        """Return float32 (n, dim), rows of unit L2 norm; the row of an unreadable picture is zero."""
        vectors = np.zeros((len(pictures), self.dimension), np.float32)
        shown = {at: image for at, one in enumerate(pictures) if (image := opened(one)) is not None}
        if shown:
            vectors[[*shown]] = self._encoded([*shown.values()])
        return vectors

    def encode_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return float32 (dim,), of unit L2 norm; the model reads only the beginning of a long text."""
        vector: npt.NDArray[np.float32] = self._encoded([text])[0]
        return vector

    def _encoded(self, given: list[Any]) -> npt.NDArray[np.float32]:
        found = np.asarray(self._model.encode(given, show_progress_bar=False), np.float32)
        return unit(found.reshape(len(given), -1))


def picture_space(name: str) -> str:
    """Return the id of the space of a model's vectors, which changes with any file of the model."""
    if is_api(name):
        return key_of("picture space", _VERSION, parse_address(name).identity)
    return space_of_files("picture space", _VERSION, name)


def load_picture_encoder(name: str, space: str) -> "PicturesAndTexts":
    """Return the encoder of a folder, a hub name or an API model; raise `ConfigError` if there is none.

    `space` is part of the cache key, so that changed files in the folder are loaded again.
    """
    if is_api(name):
        return api_pictures(name)
    return _loaded(name, space)


@cache
def _loaded(name: str, space: str) -> PictureEncoder:
    del space
    return PictureEncoder(name)


Vectors = npt.NDArray[np.float32]

PICTURE_TOKENS = 2_600
"""Tokens that are reserved for a picture: models count 50 to 1,400 for one with sides of 1,024 pixels."""
_QUALITY = 90  # JPEG quality; with less, small letters blur


class ApiPictures:
    """A model of pictures and texts behind an API."""

    def __init__(self, address: ApiAddress, payer: Payer | None = None) -> None:
        self._address, self._payer = address, payer
        self._server = EmbeddingServer(address)

    def paid_by(self, payer: Payer | None) -> "ApiPictures":
        """Return the model whose requests count towards the budget of a run."""
        return ApiPictures(self._address, payer)

    def encode_pictures(self, pictures: Sequence[KeptPicture]) -> Vectors:
        """Return float32 (n, dim), rows of unit L2 norm; the row of an unreadable or refused picture is zero."""
        kept = KeptVectors(self._file("documents"), "documents")
        found = kept.take([one.key for one in pictures])

        def ask(picture: KeptPicture) -> None:
            if (vector := self._asked(picture)) is not None:
                found[picture.key] = vector
                kept.put({picture.key: vector})  # before anything else can fail, because it is paid for

        missing = {one.key: one for one in pictures if one.key not in found}
        zeros = np.zeros(self._dimension if missing else 0, np.float32)
        with ThreadPoolExecutor(self._address.max_concurrency, "docmill-pictures-api") as threads:
            for done in [threads.submit(ask, one) for one in missing.values()]:
                done.result()
        return np.stack([found.get(one.key, zeros) for one in pictures])

    def encode_query(self, text: str) -> Vectors:
        """Return float32 (dim,), of unit L2 norm."""
        kept = KeptVectors(self._file("queries"), "queries")
        found = kept.take([text])
        if text not in found:
            found = {text: unit(self._server.embed([text], self._address.types[0]).vectors)[0]}
            kept.put(found)
        return found[text]

    def compare(self, picture: KeptPicture, known: Vectors) -> None:
        """Raise `StoreError` if the server's vector of a picture differs from the one in a store."""
        made = self._asked(picture)
        if made is not None and (made.shape != known.shape or np.linalg.norm(made - known) > TOLERANCE):
            raise StoreError(
                f"{self._address.name} has changed on {self._address.server}: the vectors of pictures are others;"
                f" restore it, or add a word to its name: pictures = {self._address.name + '?revision=2'!r}"
            )

    @computed_once
    def _dimension(self) -> int:
        """Return the dimension of the vectors; raise `ConfigError` if those of texts and pictures differ in it."""
        from PIL import Image

        blank = self._told(Image.new("RGB", (64, 64), "white"))
        text = self._server.embed(["a picture"]).vectors
        if blank is None or blank.shape != text[0].shape:
            raise ConfigError(f"{self._address.name} gives no vectors of pictures that fit those of texts")
        return int(text.shape[1])

    def _asked(self, picture: KeptPicture) -> Vectors | None:
        image = opened(picture)
        return None if image is None else self._told(image)

    def _told(self, image: Any) -> Vectors | None:
        """Return the vector of a picture, or None if the server refuses it."""
        image.save(written := BytesIO(), "JPEG", quality=_QUALITY)
        address = "data:image/jpeg;base64," + b64encode(written.getvalue()).decode()
        if self._payer:
            self._payer.admit(PICTURE_TOKENS)
        try:
            made: Embedded | None = self._server.embed_picture(address)
        except Terminal:
            made = None
        if self._payer:
            self._payer.settle(PICTURE_TOKENS, made.tokens or PICTURE_TOKENS if made else 0)
        return unit(made.vectors)[0] if made else None

    def _file(self, kind: str) -> Any:
        # `docmill erase` removes all files with the suffix `-documents.sqlite`.
        return cache_file("api", f"{self._address.cached_as}-pictures-{kind}.sqlite")


PicturesAndTexts = PictureEncoder | ApiPictures
"""A model of pictures and texts, local or behind an API."""


def api_pictures(name: str) -> ApiPictures:
    """Return the model of a name; raise `ConfigError` for a wrong name, and the errors of `allowed`."""
    return ApiPictures(allowed(parse_address(name)))


_LONGEST_SIDE = 1024
"""Pixels to which a picture is shrunk first. Models read 224 to 512, and a page of 80 million pixels takes a second."""


def opened(picture: KeptPicture) -> Any:
    """Return a picture on a white background, or None if it is damaged in a way that was not noticed earlier."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns about sizes, which were checked when the picture was stored
        try:
            image = Image.open(BytesIO(picture.data))
            image.draft("RGB", (_LONGEST_SIDE, _LONGEST_SIDE))
            shown = image.convert("RGBA")
            shown.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
            return Image.alpha_composite(Image.new("RGBA", shown.size, "white"), shown).convert("RGB")
        except Exception:  # a damaged file can make Pillow's decoders raise anything
            return None
