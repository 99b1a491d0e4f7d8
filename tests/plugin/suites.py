"""The properties that docmill tests of its own parts, tested of these plugins."""

from docmill.testing import ContextualizerSuite, RerankerSuite, SplitterSuite


class TestParagraphs(SplitterSuite):
    """The strategy `paragraphs`."""

    strategy = "paragraphs"


class TestTrail(ContextualizerSuite):
    """The contextualizer `trail`."""

    contextualizer = "trail"


class TestSharedWords(RerankerSuite):
    """The reranker `shared_words`."""

    reranker = "shared_words"
