"""The properties that docmill tests of its own parts, tested of these plugins."""

from typing import ClassVar

from docmill.testing import ContextualizerSuite, RerankerSuite, SourceSuite, SplitterSuite


class TestParagraphs(SplitterSuite):
    """The strategy `paragraphs`."""

    strategy = "paragraphs"


class TestTrail(ContextualizerSuite):
    """The contextualizer `trail`."""

    contextualizer = "trail"


class TestSharedWords(RerankerSuite):
    """The reranker `shared_words`."""

    reranker = "shared_words"


class TestPages(SourceSuite):
    """The source `pages`, of the database of this folder."""

    source = "pages://wiki"
    settings: ClassVar = {"database": "wiki.db"}
