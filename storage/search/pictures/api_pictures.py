"""API pictures: a model of pictures and texts behind an API, to which the pictures are sent; each only once.

A picture is asked for as vLLM is asked: by a message with the picture alone; a text as of any embedding model.
"""

from base64 import b64encode
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import ConfigError, StoreError, Terminal
from docmill.storage.process.computed_once import computed_once
from docmill.storage.schema import KeptPicture
from docmill.storage.search.encode.api.api_address import ApiAddress, allowed, parse_address
from docmill.storage.search.encode.api.embedding_server import Embedded, EmbeddingServer
from docmill.storage.search.encode.api.kept_vectors import KeptVectors
from docmill.storage.search.encode.api.payment import Payer
from docmill.storage.search.encode.api.same_model import TOLERANCE
from docmill.storage.search.encode.space import cache_file
from docmill.storage.search.encode.text_encoder import unit
from docmill.storage.search.pictures.opened_picture import opened

Vectors = npt.NDArray[np.float32]

PICTURE_TOKENS = 2_600
"""Tokens that are reserved for a picture: models count 50 to 1,400 of one with sides of 1,024 pixels."""
_QUALITY = 90  # of a JPEG: at less, small letters blur


class ApiPictures:
    """The pictures and texts of one model behind an API."""

    def __init__(self, address: ApiAddress, payer: Payer | None = None) -> None:
        self._address, self._payer = address, payer
        self._server = EmbeddingServer(address)

    def paid_by(self, payer: Payer | None) -> "ApiPictures":
        """Return the model whose requests are paid for by a run."""
        return ApiPictures(self._address, payer)

    def encode_pictures(self, pictures: Sequence[KeptPicture]) -> Vectors:
        """Return float32 (n, dim), rows of unit L2 norm, of zeros for a picture that nobody can read."""
        kept = KeptVectors(self._file("documents"), "documents")
        found = kept.take([one.key for one in pictures])

        def ask(picture: KeptPicture) -> None:
            if (vector := self._asked(picture)) is not None:
                found[picture.key] = vector
                kept.put({picture.key: vector})  # before anything else can fail: it is paid for

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
        """Raise `StoreError` if the server gives another vector of a picture than the one that a store has."""
        made = self._asked(picture)
        if made is not None and (made.shape != known.shape or np.linalg.norm(made - known) > TOLERANCE):
            raise StoreError(
                f"{self._address.name} has changed on {self._address.server}: the vectors of pictures are others;"
                f" restore it, or add a word to its name: pictures = {self._address.name + '?revision=2'!r}"
            )

    @computed_once
    def _dimension(self) -> int:
        """Return the dimension of texts, which is that of pictures, or `ConfigError` is raised."""
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
        """Return the vector of a picture, None if the server refuses it."""
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
        # `docmill erase` removes all that end like this.
        return cache_file("api", f"{self._address.cached_as}-pictures-{kind}.sqlite")


def api_pictures(name: str) -> ApiPictures:
    """Return the model of a name; raise `ConfigError` for a wrong one, and what `allowed` raises."""
    return ApiPictures(allowed(parse_address(name)))
