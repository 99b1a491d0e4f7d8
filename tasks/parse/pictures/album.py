"""Album: the pictures of one document, each kept once, with bounds on their number and their bytes."""

from collections import Counter
from collections.abc import Iterable, Sequence

from docmill.storage.schema import KeptPicture, Parsed
from docmill.tasks.parse.passes.drawn_block import DrawnBlock
from docmill.tasks.parse.pictures.picture_file import Unkept, look_at

LEFT_OUT = "figures_left_out"
"""The metadata with the number of pictures that are no figures, by why."""
MOST_PICTURES = 1_000
"""Figures of a document: a large manual has some hundred; more are tiles of a map or the icons of a catalogue."""
MOST_BYTES = 100_000_000  # of a document's pictures, which a worker process holds at once and hands over in one message
REPEATED = 3
"""Places of a document that show one picture from which on it is decoration, such as a logo at the top of each page.
An author who shows a figure again shows it twice."""


class Album:
    """The pictures of a document by their keys, and why others are left out."""

    def __init__(self) -> None:
        self._kept: dict[str, KeptPicture] = {}
        self._bytes = 0
        self.left_out: Counter[str] = Counter()

    def add(self, data: bytes) -> KeptPicture | None:
        """Return a picture of the document as it is kept, or None after noting why it is not."""
        found = look_at(data)
        if isinstance(found, KeptPicture):
            found = self._held(found)
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
