"""Splitter: a strategy, built in or from a plugin."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any, Protocol

from docmill.storage.plugins.origin import Origin, plugin_failed
from docmill.tasks.split.parts.strategy_options import Level, Options, Propose, Proposed, Split
from docmill.tasks.split.spans.span import Span

if TYPE_CHECKING:
    from docmill.tasks.split.parts.part import Part

_SHOWN = 40  # characters of a text in a message, enough to find it


@dataclass(frozen=True, slots=True)
class Splitter:
    """A strategy; raise `version` whenever `split` returns different spans.

    `split(part, options)` returns spans in order. The part may be a region of the document. The spans cover all of its
    text except blanks, front matter and furniture. Each has at most `options.size` tokens, counted additively. Slow
    packages are imported inside `split`, and tokens are counted only by `part.tokens`.

    `asks` names the model that a strategy needs: "vectors" of the embedding model, or "replies" of a language model.
    The strategy gets them from `part.lookup`, and uses a simpler strategy while they are missing. If rows should record
    that, `judged` returns the same spans with the name of the strategy that made them.

    `role` names its chunks if there are further `levels` of chunks below them. `lead(part)` returns what the context of
    a chunk says besides its headings, such as the question that it answers. A strategy that `crosses` is called once
    for neighbouring regions with the same route.
    """

    name: str
    version: int | str
    options: type[Options]
    split: Split
    role: str = ""
    levels: tuple[Level, ...] = ()
    crosses: bool = False
    asks: str = ""
    lead: "Callable[[Part], Callable[[Span], str]] | None" = None
    judged: Propose | None = None

    def propose(self, part: "Part", options: Options) -> Proposed:
        """Return the spans of a part, and the name of the strategy that made them."""
        return self.judged(part, options) if self.judged else Proposed(self.split(part, options), self.name)


class SplitterPlugin(Protocol):
    """A way to split text into chunks: an entry point of the group `docmill.splitters`, whose name is the strategy.

    The entry point refers to an object with these members, or to a class that is called without arguments.

    Attributes:
        version: Raise it whenever `split` returns other spans. Together with the version of the distribution, it is
            part of the key of each document that was split, so that exactly those documents are split again.
        options: A frozen dataclass that extends `docmill.plugins.Options`, of the standard library or of pydantic.
            `__post_init__`, or pydantic, refuses wrong values with a `ValueError`. Settings, routes and front matter
            are checked with it.
    """

    version: int | str
    options: type[Options]

    def split(self, part: "Part", options: Any) -> Sequence[Span]:
        """Return the spans of the chunks of a part, ordered by start.

        Spans are half-open, in code points of `part.text`, which is the whole document, and are within `part.start` and
        `part.end`. Together they hold every character of the part that is neither white space, front matter nor
        furniture. A span should have at most `options.size` tokens, which `part.tokens.count(start, end)` counts; one
        that the model cannot take is cut. The same part and options always give the same spans.

        It is called in a worker process: without network, with a limit on time and memory, and with one document at a
        time. Any exception rejects the document, with a message that names the plugin and its distribution.
        """
        ...


def splitter_of_plugin(origin: Origin, plugin: SplitterPlugin) -> Splitter:
    """Return the splitter of a plugin; if it fails or gives wrong spans, it rejects the document and is named."""
    if not (isinstance(plugin.options, type) and issubclass(plugin.options, Options) and is_dataclass(plugin.options)):
        raise TypeError(f"its options must be a dataclass that extends docmill.plugins.Options, got {plugin.options!r}")

    def split(part: "Part", options: Any) -> list[Span]:
        return list(_checked(part, plugin.split(part, options)))

    return Splitter(origin.name, origin.version(plugin.version), plugin.options, origin.guarded(split, plugin_failed))


def _checked(part: "Part", spans: Iterable[tuple[int, int]]) -> Iterator[Span]:
    """Yield the spans of a part; raise `ValueError` if they leave it, are out of order, or miss some of its text."""
    before, reached = part.start, part.start
    for start, end in spans:
        if not before <= start < end <= part.end:
            raise ValueError(f"the span [{start}, {end}) is empty, out of order, or not in [{part.start}, {part.end})")
        _check_gap(part, reached, start)
        before, reached = start, max(reached, end)
        yield Span(int(start), int(end))
    _check_gap(part, reached, part.end)


def _check_gap(part: "Part", start: int, end: int) -> None:
    """Raise `ValueError` if a gap between spans contains more than white space, front matter and furniture."""
    for element in part.index.left_out.within(start, end):
        _check_blank(part.text, start, element.start_char)
        start = max(start, element.end_char)
    _check_blank(part.text, start, end)


def _check_blank(text: str, start: int, end: int) -> None:
    if lost := text[start:end].strip():
        raise ValueError(f"no span holds {lost[:_SHOWN]!r}, within [{start}, {end})")
