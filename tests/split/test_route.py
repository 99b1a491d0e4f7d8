"""Documents are told apart by what is in them, and sent to the strategy that the table names."""

import time
from dataclasses import replace

import pytest

from docmill.storage.errors import ConfigError
from docmill.tasks.chunking.route import Route, RouteTable, default_routes
from docmill.tasks.detect.content_types import CONTENT_TYPES
from docmill.tasks.detect.type_scores import SCORES, detect, document_features
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions

STRUCTURE, RECURSIVE = Route("structure"), Route("recursive")

SAMPLES = {
    "faq": ("markdown", "# FAQ\n\n## How do I pay?\n\nBy card.\n\n## Can I cancel?\n\nYes, within a day.\n"),
    "chat": ("text", "[10:02] <ada> is the wheel turning?\n[10:03] <bo> it is\n[10:05] <ada> good\n"),
    "email": (
        "text",
        "From: ada@mill.example\nTo: bo@mill.example\nSubject: Flour\nDate: 3 May\n\nBo,\nmore.",
    ),
    "log": ("text", "2024-05-01 10:00:01 INFO wheel started\n2024-05-01 10:00:09 WARN water is low\n" * 4),
    "transcript": ("text", "WEBVTT\n\n00:01.000 --> 00:04.000\nThe mill.\n\n00:05.000 --> 00:09.000\nIt turns.\n"),
    "legal": (
        "text",
        "1. The parties hereby agree that the Licensee shall indemnify the Licensor.\n\n2. This Agreement shall be"
        " governed by the law of that jurisdiction, notwithstanding any termination.\n\n3. No warranty is given.",
    ),
    "technical": (
        "markdown",
        "# Install\n\nRun `pip install mill`, then set `MILL_HOME`.\n\n```bash\nmill --start\n```\n\nSee `a.toml`.\n",
    ),
    "narrative": (
        "text",
        "He walked down to the river, where she was waiting. “You are late,” she said. He had no answer, and they"
        " stood there while the wheel turned.\n\nIn the evening his father asked him about it. He said nothing.",
    ),
    "code": ("code", "def mill():\n    return 1\n"),
    "table": ("csv", "name,weight\nrye,3\nwheat,4\n"),
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_plain_case_of_each_kind_is_recognised(kind: str) -> None:
    name, text = SAMPLES[kind]
    file_type = FileType(name, "python" if name == "code" else "")
    assert detect(parse(text.encode(), file_type, ParseOptions()), file_type).content_type == kind


def test_scores_are_shares() -> None:
    for name, text in SAMPLES.values():
        features = document_features(parse(text.encode(), FileType(name), ParseOptions()))
        signs = {kind: score(features) for kind, score in SCORES.items()}
        assert set(signs) == set(CONTENT_TYPES)
        assert all(0 <= sign.score <= 1 for sign in signs.values())


def test_the_first_glob_decides_then_the_type_then_the_default() -> None:
    table = RouteTable(
        by_glob=(("manuals/**", RECURSIVE), ("*.txt", Route("structure", {"size": 50}))),
        by_type={"legal": Route("structure", {"size": 100})},
        default=STRUCTURE,
    )
    assert table.route("manuals/a.txt", "legal") == RECURSIVE
    assert table.route("notes/b.txt", "legal").options == {"size": 50}
    assert table.route("notes/b.md", "legal").options == {"size": 100}
    assert table.route("notes/b.md", "faq") == STRUCTURE


def test_globs_of_routes_and_contexts_are_matched_in_good_time() -> None:
    glob = "/" + "*a" * 12 + "*b"
    table = RouteTable(by_glob=((glob, RECURSIVE),), by_type={}, default=STRUCTURE, contexts=((glob, "structural"),))
    before = time.process_time()
    assert table.route("a" * 30, "prose") == STRUCTURE
    assert time.process_time() - before < 2, "an expression that goes back to each star takes five seconds and more"
    assert table.route("a" * 200 + "b", "prose") == replace(RECURSIVE, contextualizer="structural")


@pytest.mark.parametrize("contexts", [False, True])
def test_a_wrong_glob_is_refused_with_the_glob(contexts: bool) -> None:
    by_glob, by_context = ((), (("docs/\\", "structural"),)) if contexts else ((("docs/\\", STRUCTURE),), ())
    with pytest.raises(ConfigError, match=r"\[\[routes\]\] glob: a backslash must be followed by .*: 'docs/"):
        RouteTable(by_glob, {}, STRUCTURE, contexts=by_context)


def test_every_kind_has_a_route() -> None:
    assert set(default_routes().by_type) == set(CONTENT_TYPES)


def test_a_wrong_kind_names_the_nearest_right_one() -> None:
    with pytest.raises(ConfigError, match="nearest is 'legal'"):
        RouteTable((), {"leagl": STRUCTURE}, STRUCTURE)
