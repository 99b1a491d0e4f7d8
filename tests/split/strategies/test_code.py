"""How source code is split: along its definitions, with what encloses a chunk as its headings."""

import time

import pytest

from docmill.storage.schema import Draft, Element, Parsed
from docmill.tasks.chunking.chunk import chunk
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route
from docmill.tasks.parse.programming_languages import LANGUAGES
from docmill.tasks.split.syntax import grammars
from docmill.tasks.split.syntax.definitions import definitions_of
from docmill.tasks.split.syntax.grammars import GRAMMARS, known, syntax_of
from tests.kit.documents import document, tokenizer
from tests.split.strategies.code_samples import SAMPLES

BODY = "\n".join(f"        value_{i} = self.measure({i}) + offset" for i in range(30))
PYTHON = f'''import os
import sys

LIMIT = 3


# Counts what came in.
@cached
def count(values):
    return len(values)


class Gauge(Sensor):
    """A gauge on the roof."""

    limit = 3

    def read(self, times, offset=1):
        """Read it some times."""
{BODY}
        return value_1

    # A short way to zero.
    @property
    def zero(self):
        return 0

    def one(self):
        return 1


def last():
    return Gauge()
'''


def split(text: str, language: str, size: int = 64) -> list[Draft]:
    parsed = Parsed(text, (Element("code", 0, len(text.rstrip()), attributes={"language": language}),))
    return chunk(parsed, "code", Route("code", {"size": size}), tokenizer(), ChunkOptions(256))


def test_there_is_a_sample_for_every_grammar_and_a_language_for_every_sample() -> None:
    assert SAMPLES.keys() == GRAMMARS.keys() <= LANGUAGES.keys()


@pytest.mark.parametrize("language", SAMPLES)
def test_the_definitions_around_a_place_are_its_path(language: str) -> None:
    text, mark, path = SAMPLES[language]
    syntax, found = syntax_of(text, language), definitions_of(text, language)
    assert syntax is not None
    assert not syntax.root.has_error
    assert found is not None
    place = text.rindex(mark)
    assert tuple(one.signature for one in found.around(place, place + len(mark))) == path


@pytest.mark.parametrize("language", SAMPLES)
def test_chunks_of_every_language_begin_where_lines_do(language: str) -> None:
    text = SAMPLES[language][0] * 3
    drafts = split(text, language, 32)
    assert len(drafts) > 1
    assert all(text[: draft.start_char].rpartition("\n")[2].strip() == "" for draft in drafts)


def test_a_method_that_is_cut_says_its_class_and_itself() -> None:
    parts = [draft for draft in split(PYTHON, "python") if "value_" in draft.text]
    assert len(parts) > 4
    assert parts[0].text.startswith("def read(self, times, offset=1):")
    assert parts[0].headings == ("class Gauge(Sensor)",)
    assert parts[0].context == "A gauge on the roof.\nclass Gauge(Sensor)"
    path = ("class Gauge(Sensor)", "def read(self, times, offset=1)")
    said = "A gauge on the roof.\n" + " › ".join(path)
    assert {(draft.headings, draft.context) for draft in parts[1:]} == {(path, said)}
    assert all(draft.text.startswith(("value_", "return")) for draft in parts[1:])


def test_comments_and_decorators_stay_with_what_they_describe_and_small_definitions_share_a_chunk() -> None:
    texts = [draft.text for draft in split(PYTHON, "python")]
    assert any(
        text.endswith("# Counts what came in.\n@cached\ndef count(values):\n    return len(values)") for text in texts
    )
    small = next(text for text in texts if "# A short way to zero." in text)
    assert small.startswith("# A short way to zero.\n    @property\n    def zero(self):")
    assert small.endswith("return 1")


def test_the_rest_of_a_class_never_joins_the_function_after_it() -> None:
    last = split(PYTHON, "python")[-1]
    assert last.text == "def last():\n    return Gauge()"
    assert last.headings == ()


def test_a_decorator_is_not_parted_from_a_definition_that_is_cut() -> None:
    text = PYTHON.replace("    def read", "    # Slow.\n    @timed(unit='ms')\n    def read")
    (first,) = (draft.text for draft in split(text, "python") if "def read" in draft.text)
    assert first.startswith("# Slow.\n    @timed(unit='ms')\n    def read(self, times, offset=1):\n")


def test_offsets_are_right_after_characters_of_several_bytes() -> None:
    text = PYTHON.replace("A gauge on the roof", "Ein Messgerät — über dem Dach 🌡")
    parts = [draft for draft in split(text, "python") if "value_" in draft.text]
    assert all(draft.text.startswith(("value_", "return", "def read")) for draft in parts)
    assert parts[-1].headings == ("class Gauge(Sensor)", "def read(self, times, offset=1)")


@pytest.mark.parametrize(("language", "text"), [("", PYTHON), ("nim", PYTHON), ("python", "{[(<?> }" * 400)])
def test_what_is_no_code_that_is_known_is_split_as_by_recursive(language: str, text: str) -> None:
    parsed = Parsed(text, (Element("code", 0, len(text.rstrip()), attributes={"language": language}),))
    plain = chunk(parsed, "code", Route("recursive", {"size": 64}), tokenizer(), ChunkOptions(256))
    assert [draft.text for draft in split(text, language)] == [draft.text for draft in plain]


def test_a_fence_in_a_document_is_read_without_its_marks_and_text_around_it_is_kept() -> None:
    fenced = f"```py\n{PYTHON}```"
    parsed = document(("title", "# Guide", 1), ("paragraph", "As follows."), ("code", fenced), ("paragraph", "Done."))
    code = next(e for e in parsed.elements if e.kind == "code")
    code.attributes["language"] = "py"
    drafts = chunk(parsed, "", Route("code", {"size": 64}), tokenizer(), ChunkOptions(256))
    assert drafts[0].text.startswith("# Guide\n\nAs follows.")
    assert drafts[-1].text.endswith("Done.")
    parts = [draft for draft in drafts if draft.text.startswith("value_")]
    assert parts[0].headings == ("Guide", "class Gauge(Sensor)", "def read(self, times, offset=1)")


HOSTILE = [("python", "x = " + "(" * 60_000), ("cpp", "{\n" * 30_000), ("haskell", "if x\n" * 12_000)]


@pytest.mark.parametrize(("language", "text"), HOSTILE)
def test_hostile_code_is_given_up_in_time(language: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammars, "_MAX_SECONDS", 0.1)
    begin = time.process_time()
    drafts = split(text, language)
    assert time.process_time() - begin < 10
    assert sum(draft.end_char - draft.start_char for draft in drafts) >= len(text.replace(" ", "").replace("\n", ""))


def test_languages_are_known_by_the_names_that_fences_give_them() -> None:
    assert [known(name) for name in ("py", "C#", "bash", "tsx", "Golang", "text", "")] == [
        "python", "csharp", "shell", "typescript", "go", "", "",
    ]  # fmt: skip
