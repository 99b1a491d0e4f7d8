"""Terminal view of an explanation: the regions as a table, the chunks in colours."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from docmill.flows.cli.terminal.capabilities import colours
from docmill.flows.cli.terminal.output import harmless, plain
from docmill.flows.runs.phases import counted

if TYPE_CHECKING:
    from rich.text import Text

    from docmill.flows.explain import Explanation, Split
    from docmill.storage.schema import Draft

COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "red")


def draw(found: "Explanation", limit: int) -> None:
    """Print an explanation with at most `limit` chunks of each split; 0 prints all."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True, no_color=not colours())
    for line in _lines(found, limit):
        console.print(line)


def _lines(found: "Explanation", limit: int) -> Iterator["Text"]:
    from rich.text import Text

    yield Text(plain(str(found.path)), style="bold")
    yield from map(Text, _facts(found))
    for number, one in enumerate(found.routed, 1):
        verdict = one.region.verdict
        lines = _line_range(found, one.region.start, one.region.end)
        yield Text()
        yield Text.assemble(
            (f"region {number}", "bold"), f"  {lines}  ", (verdict.content_type, f"bold {COLOURS[number % 6]}"),
            f" {verdict.score:.2f}  else {verdict.runner_up or 'nothing'} {verdict.runner_up_score:.2f}",
        )  # fmt: skip
        yield Text(f"  because   {plain('; '.join(verdict.evidence))}")
        yield Text(f"  goes to   {plain(one.spelled())}, by {plain(one.rule)}")
    for split in found.splits:
        yield Text()
        yield Text(plain(_summary(split)), style="bold underline")
        yield from _chunks(found.document.parsed.text, split.chunks, limit)


def _facts(found: "Explanation") -> Iterator[str]:
    document = found.document
    whole = document.verdict
    yield f"  uri       {plain(found.uri)}" + (f" of source {plain(found.source)}" if found.source else "")
    yield f"  format    {plain(found.format)}, {len(document.parsed.text):,} characters"
    yield f"  is        {whole.content_type} {whole.score:.2f}, else {whole.runner_up} {whole.runner_up_score:.2f}"
    yield from (f"  warning   {plain(warning)}" for warning in found.warnings)
    if found.globs:
        yield f"  globs     {plain(', '.join(found.globs))} match; the first decides"


def _line_range(found: "Explanation", start: int, end: int) -> str:
    text = found.document.parsed.text
    first = text.count("\n", 0, start) + 1
    return f"lines {first}-{first + text[start:end].rstrip().count(chr(10))}"


def _summary(split: "Split") -> str:
    sizes = sorted(chunk.tokens for chunk in split.chunks)
    return f"{split.spelled()}: {sizes_spelled(sizes)}"


def sizes_spelled(sizes: Sequence[int]) -> str:
    """Return the number of chunks and their sizes in tokens; `sizes` is sorted."""
    if len(sizes) < 2:
        return f"1 chunk of {counted(sizes[0], 'tokens')}" if sizes else "no chunks"
    return f"{len(sizes)} chunks of {sizes[0]} to {sizes[-1]} tokens, half below {sizes[len(sizes) // 2]}"


def _chunks(text: str, chunks: Sequence["Draft"], limit: int) -> Iterator["Text"]:
    from rich.text import Text

    reached = 0
    for number, chunk in enumerate(chunks[: limit or None], 1):
        colour = COLOURS[number % len(COLOURS)]
        role = f"  {chunk.role}" if chunk.role else ""
        place = f"  page {chunk.page}" if chunk.page else f"  line {chunk.line}"
        yield Text(f"── {number}  {chunk.tokens} tokens  {chunk.content_type}{place}{role} ──", style=f"bold {colour}")
        if chunk.context:
            yield Text(plain(chunk.context), style="dim italic")
        shared = max(chunk.start_char, min(reached, chunk.end_char))
        said = Text(harmless(text[chunk.start_char : shared]), style=f"{colour} reverse")
        yield said.append(harmless(text[shared : chunk.end_char]), style=f"{colour} not reverse")
        reached = max(reached, chunk.end_char)
    if limit and len(chunks) > limit:
        yield Text(f"… and {len(chunks) - limit} more; --limit 0 draws all", style="dim")
