"""Properties that each parser keeps, part of `docmill.testing`: exact spans, determinism, limits, and no crash."""

import random
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.readers import ChosenReader
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions


class Sample(NamedTuple):
    """A file, and the parser that reads it, with its options."""

    name: str
    data: bytes
    parser: str
    options: Mapping[str, Any] = {}

    def parsed(self, data: bytes, limits: ParseOptions | None = None) -> Parsed:
        """Return what the parser makes of other data in a file of this type; raise Rejected as a run does."""
        file_type = detect_file_type(self.name, self.data)
        return parse(data, file_type, limits or ParseOptions(), ChosenReader(self.parser, self.options))


def check_parsed(sample: Sample) -> None:
    """Assert that a file is read, with exact spans and lines, the same again, and not beyond the limits."""
    parsed = sample.parsed(sample.data)  # whose elements `parse` has checked
    assert parsed == sample.parsed(sample.data)
    assert parsed.text == parsed.text.removeprefix("\ufeff").encode().decode()
    for element in parsed.elements:
        assert parsed.text[element.start_char : element.end_char].strip()
        before = parsed.text[: element.start_char].replace("\r\n", "\n").replace("\r", "\n")
        assert element.line in (0, 1 + before.count("\n"))
    assert _fate(sample, sample.data, ParseOptions(max_characters=len(parsed.text) - 1)).startswith("too_large: ")


def check_damaged(sample: Sample, times: int) -> None:
    """Assert that an empty file is rejected as such, and that damage makes another document or a reject, no crash."""
    assert all(_fate(sample, blank).startswith("empty: ") for blank in (b"", b" \n", b"\0\0"))
    rng = random.Random(1)
    for _ in range(times):
        at, end = sorted(rng.randrange(len(sample.data) + 1) for _ in range(2))
        for damaged in (sample.data[:at], sample.data[:at] + rng.randbytes(8) + sample.data[end:]):
            fate = _fate(sample, damaged)
            assert not fate.startswith(("crashed: ", "plugin_failed: ")), fate


def _fate(sample: Sample, data: bytes, limits: ParseOptions | None = None) -> str:
    """Return the reason and the message with which other data is rejected, or "" if it is read."""
    try:
        sample.parsed(data, limits)
    except Rejected as why:
        return f"{why.reason}: {why.message}"
    return ""


class ParserSuite:
    """Tests of a parser: set `parser`, the content of `samples` by file name, and `options` to try others."""

    parser: ClassVar[str]
    samples: ClassVar[Mapping[str, bytes]]
    options: ClassVar[Mapping[str, Any]] = {}

    def test_samples_are_read_with_exact_spans_and_the_same_again(self) -> None:
        for name, data in self.samples.items():
            check_parsed(Sample(name, data, self.parser, self.options))

    def test_damaged_and_empty_files_are_read_or_rejected_with_a_reason(self) -> None:
        for name, data in self.samples.items():
            check_damaged(Sample(name, data, self.parser, self.options), 30)
