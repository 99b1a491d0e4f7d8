"""What a worker says is not trusted: a parser that a document has taken over says nothing but a document's words."""

import base64
import os
import pickle
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import REASONS, Rejected
from docmill.storage.schema import Draft, Element, Parsed, StagedDocument
from docmill.tasks.archive.contents import ContainedFile, Contents
from docmill.tasks.detect.regions import Region
from docmill.tasks.detect.type_scores import Verdict
from docmill.tasks.model.prompt import Prompt
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.work.batch.unpack import lay
from docmill.tasks.work.document import preview
from docmill.tasks.work.document.open_archive import look
from docmill.tasks.work.document.process import WorkResult, process_document
from docmill.tasks.work.pool import messages, worker
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.plain_json import Readers, Unreadable, decode, encode
from docmill.tasks.work.pool.pool import Pool
from tests.kit.drawing import examples


class Payload:
    """A pickle of this makes a file where it is read."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Path]]:
        return Path.touch, (self.target,)


def framed(message: bytes) -> bytes:
    return struct.pack("!Q", len(message)) + message


WORDS: dict[str, bytes] = {
    "not framed": pickle.dumps(["answer", "x"]),
    "truncated": framed(b'["answer", ["pdf", "'),
    "empty": framed(b""),
    "no text": framed(b"\xff\xfe\x00"),
    "a class by its name": framed(b'["answer", {"class": "os.system", "arguments": ["true"]}]'),
    "a class of ours": framed(b'["answer", {"class": "docmill.tasks.parse.formats.FileType", "format": "pdf"}]'),
    "wrong field": framed(b'["answer", ["pdf", 7]]'),
    "too few fields": framed(b'["answer", ["pdf"]]'),
    "too many fields": framed(b'["answer", ["pdf", "", ""]]'),
    "another type": framed(b'["answer", "pdf"]'),
    "nothing": framed(b'["answer", null]'),
    "another word": framed(b'["shout", "pdf"]'),
    "no word": framed(b'[["answer"], "pdf"]'),
    "wrong note": framed(b'["note", [["pdf 7"]]]'),
    "no such reason": framed(b'["rejected", ["because", "of it", ""]]'),
    "a reason of lists": framed(b'["rejected", [[], {}, ""]]'),
    "too deep": framed(b'["answer", ' + b"[" * 200_000),
    "a gigabyte": struct.pack("!Q", 1 << 30),
    "all there is": b"\xff" * 8,
}


def take_over(how: str) -> FileType:
    """Say to the process in charge what no honest worker would."""
    for pipe in worker._notes:
        os.write(pipe.fileno(), framed(pickle.dumps(Payload(Path(how)))) if "/" in how else WORDS.get(how, b""))
        if how == "promised and not sent":
            os.write(pipe.fileno(), struct.pack("!Q", 1 << 20) + b'["answer", ')
    if how != "good":
        time.sleep(60)
    return FileType("pid", str(os.getpid()))


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(Limits(workers=1, timeout_s=20)) as pool:
        yield pool


@pytest.mark.parametrize("how", WORDS)
def test_words_of_a_stranger_are_a_reason_and_the_worker_goes(pool: Pool, how: str) -> None:
    before, bad, after = pool.map(take_over, ["good", how, "good"])
    assert isinstance(bad, Rejected)
    assert (bad.reason, "no answer that could be read" in bad.message) == ("crashed", True)
    assert isinstance(before, FileType)
    assert isinstance(after, FileType)
    assert before.language != after.language


def test_a_pickle_from_a_worker_is_not_carried_out(pool: Pool, tmp_path: Path) -> None:
    target = tmp_path / "made"
    pickle.loads(pickle.dumps(Payload(target)))
    assert target.exists(), "else the payload is none"
    target.unlink()
    (bad,) = pool.map(take_over, [str(target)])
    assert isinstance(bad, Rejected)
    assert bad.reason == "crashed"
    assert not target.exists()


def test_an_answer_that_is_announced_and_never_comes_is_waited_for_no_longer_than_any_other() -> None:
    with Pool(Limits(workers=1, timeout_s=5)) as pool:  # in which a worker also imports this module
        bad, good = pool.map(take_over, ["promised and not sent", "good"])
    assert isinstance(bad, Rejected)
    assert (bad.reason, isinstance(good, FileType)) == ("timeout", True)


TEXTS = st.text(st.characters(codec=None), max_size=8)  # lone surrogates among them
NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)
FLOATS = st.floats(allow_nan=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {str: TEXTS, int: NUMBERS, float: FLOATS}
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=3)
ELEMENTS = st.builds(
    Element,
    TEXTS,
    *[NUMBERS] * 5,
    st.none() | st.tuples(*[FLOATS] * 4),
    OBJECTS,
)
PARSED = st.builds(Parsed, TEXTS, st.lists(ELEMENTS, max_size=3).map(tuple), TEXTS, OBJECTS)
DRAFTS = st.builds(
    Draft,
    *[NUMBERS] * 2,
    *[TEXTS] * 2,
    st.lists(TEXTS).map(tuple),
    st.none() | NUMBERS,
    NUMBERS,
    *[TEXTS] * 2,
    NUMBERS,
    parts=st.lists(NUMBERS, max_size=2).map(tuple),
)
DOCUMENTS = st.builds(
    StagedDocument,
    *[TEXTS] * 3,
    NUMBERS,
    *[TEXTS] * 6,
    *[NUMBERS] * 2,
    TEXTS,
    st.booleans(),
    *[TEXTS] * 3,
    regions=st.lists(OBJECTS, max_size=2).map(tuple),
)
PROMPTS = st.builds(
    Prompt, st.lists(TEXTS).map(tuple), st.lists(TEXTS).map(tuple), TEXTS, TEXTS, NUMBERS, st.booleans()
)
VERDICTS = st.builds(Verdict, TEXTS, FLOATS, TEXTS, FLOATS, st.lists(TEXTS).map(tuple))
ENTRIES = st.builds(
    ContainedFile, st.lists(NUMBERS).map(tuple), TEXTS, TEXTS, NUMBERS, TEXTS, TEXTS, TEXTS, st.booleans()
)
ANSWERS: dict[Callable[..., Any], st.SearchStrategy[Any]] = {
    process_document: st.builds(
        WorkResult,
        DOCUMENTS,
        st.lists(DRAFTS, max_size=3),
        st.none() | PARSED,
        st.lists(TEXTS).map(tuple),
        st.lists(PROMPTS, max_size=2).map(tuple),
        st.lists(st.lists(TEXTS).map(tuple), max_size=2).map(tuple),
    ),
    look: st.builds(Contents, TEXTS, st.lists(ENTRIES, max_size=3).map(tuple), TEXTS, TEXTS),
    preview.read: st.builds(
        preview.Read,
        st.builds(FileType, TEXTS, TEXTS),
        PARSED,
        VERDICTS,
        st.lists(st.builds(Region, NUMBERS, NUMBERS, VERDICTS), max_size=2).map(tuple),
    ),
    preview.split: st.tuples(st.lists(DRAFTS, max_size=2), st.lists(TEXTS).map(tuple)),
    preview.take: st.none(),
    lay: st.none(),
}


@pytest.mark.parametrize("function", ANSWERS, ids=lambda function: function.__name__)
@examples(100)
@given(data=st.data())
def test_every_answer_comes_as_it_was_sent(function: Callable[..., Any], data: st.DataObject) -> None:
    sent = data.draw(ANSWERS[function])
    assert decode(messages.answer(sent), messages.message_reader(function)) == sent


@examples(100)
@given(TEXTS)
def test_notes_and_reasons_come_as_they_were_sent(text: str) -> None:
    read = messages.message_reader(look)
    assert decode(messages.note(text), read) == messages.Note(text)
    for reason in REASONS:
        why = decode(messages.refusal(Rejected(reason, text, text)), read)
        assert (type(why), why.reason, why.message, why.parser) == (Rejected, reason, text, text)


@examples(100)
@given(JSON)
def test_what_is_no_answer_is_said_to_be_none(value: object) -> None:
    for function in (process_document, look, preview.read):
        with pytest.raises(Unreadable):
            decode(encode(("answer", value)), messages.message_reader(function))


class Pair(NamedTuple):
    """Two values."""

    left: str
    right: bytes


@dataclass(frozen=True)
class Mixed:
    """What plain JSON knows besides what answers need."""

    pair: Pair
    kinds: frozenset[str]
    where: Path | None
    word: Literal["a", "b"]
    size: int | str
    chain: "tuple[Mixed, ...]" = ()
    table: dict[str, tuple[int, ...]] | None = None
    _cache: dict[str, str] | None = None


@examples(100)
@given(TEXTS, st.binary(max_size=9), st.sets(TEXTS, max_size=3), NUMBERS | TEXTS)
def test_all_other_kinds_come_back_too(text: str, data: bytes, some: set[str], either: int | str) -> None:
    inner = Mixed(Pair(text, data), frozenset(some), None, "a", either)
    outer = Mixed(Pair("", b""), frozenset(), Path("x", "y"), "b", 1, (inner, inner), {text: (1, 2)}, {"left": "out"})
    assert decode(encode(outer), Readers().of(Mixed)) == Mixed(*[*vars(outer).values()][:-1])


def test_numbers_that_are_none_and_halves_of_characters_survive() -> None:
    read = Readers().of(tuple[float, ...])
    assert str(decode(encode((float("nan"), float("inf"), -0.0, 3)), read)) == "(nan, inf, -0.0, 3)"
    pair = "\ud83d\ude00 \udcff"
    assert decode(encode([pair, {pair: pair}]), Readers().of(Any)) == [pair, {pair: pair}]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (int, "true"),
        (int, "1.0"),
        (int, str(1 << 63)),
        (float, '"1"'),
        (str, "1"),
        (bool, "0"),
        (bytes, '"%"'),
        (tuple[int, str], "[1]"),
        (tuple[int, ...], '{"0": 1}'),
        (dict[str, int], '{"a": "b"}'),
        (Literal["a"], '"b"'),
        (int | str, "[]"),
        (str | None, "0"),
        (Pair, '["a", "not base 64"]'),
        (str, '"a" "b"'),
    ],
)
def test_a_value_of_another_type_is_not_read(kind: Any, data: str) -> None:
    with pytest.raises(Unreadable):
        decode(data.encode(), Readers().of(kind))


@pytest.mark.parametrize("value", [object(), lambda: 0, {("a",): 1}, {1, 2}, Path, ParseOptions(passwords=("x",))])
def test_what_has_no_plain_form_is_not_written(value: object) -> None:
    with pytest.raises(TypeError):
        encode(value)


def test_a_type_that_has_no_plain_form_has_no_reader() -> None:
    for kind in (object, Callable[[], int], dict[int, str], Payload):
        with pytest.raises(TypeError, match="plain"):
            Readers().of(kind)


def test_bytes_are_written_as_letters() -> None:
    assert decode(encode(b"\0\xff"), Readers().of(str)) == base64.b64encode(b"\0\xff").decode()
