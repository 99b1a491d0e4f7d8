"""A reranker: the share of the question's words that a chunk holds."""

from collections.abc import Sequence

from docmill.plugins import ChunkRow


class SharedWords:
    """The reranker `shared_words`."""

    version = 1

    def score(self, question: str, chunks: Sequence[ChunkRow]) -> list[float]:
        """Return a share from 0 to 1 for each chunk."""
        asked = set(question.casefold().split())
        return [len(asked & set(chunk.text.casefold().split())) / len(asked) for chunk in chunks]
