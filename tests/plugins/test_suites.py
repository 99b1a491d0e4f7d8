"""The suites of `docmill.testing` pass for our own and find what is wrong with a plugin."""

from pathlib import Path

import pytest

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.testing import ContextualizerSuite, SplitterSuite, check_contexts, check_document
from tests.plugins.distributions import write_distribution

CODE = """
from itertools import count
from docmill.plugins import Options, Span

calls = count(1)

class Splitter:
    version = 1
    options = Options

    def split(self, part, options):
        return [Span(part.start, part.end)] if part.text[part.start : part.end].strip() else []

class Turns(Splitter):
    def split(self, part, options):
        middle = part.start + 4 * next(calls)
        return [Span(part.start, middle), Span(middle, part.end)]

class Loses(Splitter):
    def split(self, part, options):
        return [Span(part.start, part.start + 1)]

class Context:
    version = 1

    def say(self, setting, span, lead):
        return setting.parsed.text[: next(calls)]
"""


class OfSentences(SplitterSuite):
    strategy = "sentence"
    options = {"size": 60}  # noqa: RUF012


class OfWindows(ContextualizerSuite):
    contextualizer = "window"


class OfWholes(SplitterSuite):
    strategy = "wholes"


class OfLosses(SplitterSuite):
    strategy = "losses"


@pytest.fixture
def bad(tmp_path: Path, fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a distribution of bad plugins."""
    entries = {"wholes": "Splitter", "turns": "Turns", "losses": "Loses"}
    targets = {f"splitters/{name}": f"bad_plugins:{target}" for name, target in entries.items()}
    write_distribution(
        tmp_path, "bad", targets | {"contextualizers/changes": "bad_plugins:Context"}, {"bad_plugins": CODE}
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert fresh is None


@pytest.mark.parametrize("suite", [OfSentences(), OfWindows()], ids=lambda suite: type(suite).__name__)
def test_ours_pass_every_test_of_a_suite(suite: SplitterSuite | ContextualizerSuite) -> None:
    tests = [name for name in dir(suite) if name.startswith("test_")]
    assert len(tests) == (5 if isinstance(suite, SplitterSuite) else 1)
    for name in tests:
        getattr(suite, name)()


@pytest.mark.usefixtures("bad")
def test_bad_plugins_fail() -> None:
    parsed = Parsed("The mill grinds. Then it stands still.", ())
    with pytest.raises(AssertionError):
        check_document(parsed, 64, "turns", {})
    with pytest.raises(AssertionError):
        OfWholes().test_a_new_sentence_makes_few_new_chunks()
    with pytest.raises(Rejected, match="no span holds"):
        OfLosses().test_a_long_single_line_is_split()
    with pytest.raises(AssertionError):
        check_contexts(parsed, 64, "changes")
