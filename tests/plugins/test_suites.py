"""The suites of `docmill.testing` hold for our own and find what is wrong with a plugin."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.context.contextualizers import CONTEXTUALIZERS
from docmill.testing import SplitterSuite, check_contexts, check_document, documents
from tests.kit.drawing import examples
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


@pytest.mark.parametrize("contextualizer", CONTEXTUALIZERS.own)
@examples(8)
@given(parsed=documents(), limit=st.sampled_from([32, 64, 256]))
def test_our_contextualizers_keep_what_the_suite_asks_of_others(
    contextualizer: str, parsed: Parsed, limit: int
) -> None:
    check_contexts(parsed, limit, contextualizer)


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
