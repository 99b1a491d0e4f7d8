"""The properties that docmill tests of its own parts, tested of these plugins."""

from typing import ClassVar

from docmill.testing import ContextualizerSuite, ParserSuite, RerankerSuite, SourceSuite, SplitterSuite


class TestCooklang(ParserSuite):
    """The parser `cooklang`."""

    parser = "cooklang"
    samples: ClassVar = {"bread.cook": b">> title: Mill bread\nMix @wheat flour{500%g} and @water.\n"}


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
