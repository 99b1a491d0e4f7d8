"""Usual options: the options of the strategies in the default routes.

They are here rather than in the modules that split, so that a run that finds nothing new need not load those.
"""

from dataclasses import dataclass

from docmill.storage.errors import ConfigError
from docmill.tasks.split.parts.strategy_options import MAX_SIZE, Options, option

_MAX_SEPARATORS = 12  # each needs its own seam between `LINE` and `BLOCK`, of which there are 16
_MOST_ROWS = 10_000  # a chunk of the maximum size has fewer
_MOST_MINUTES = 100_000  # ten weeks; a longer gap is no pause in a conversation but a mistake
_MOST_SECONDS = 10_000_000  # four months; a longer window groups nothing by time, which 0 says more clearly


@dataclass(frozen=True, slots=True)
class Recursive(Options):
    r"""Cuts at the largest boundary that fits.

    Without `separators`, the content decides: headings by level, then empty lines; in code, the separators of its
    language come first, such as `class` and `def`. Parts that are still too long are cut between lines and sentences,
    then between words.
    """

    separators: tuple[str, ...] = option(
        (),
        "At most 12 texts, the strongest first. The text is cut before one that begins with white space, and after any"
        " other; `\\n` matches any line end.",
    )

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        object.__setattr__(self, "separators", tuple(self.separators))
        if not all(isinstance(one, str) and one for one in self.separators) or len(self.separators) > _MAX_SEPARATORS:
            raise ConfigError(
                f"separators must be at most {_MAX_SEPARATORS} strings, none empty, got {self.separators!r}"
            )


@dataclass(frozen=True, slots=True)
class Structure(Options):
    """Cuts along headings, then between blocks: paragraphs, lists, tables by rows, code by its own blocks.

    A chunk never crosses a section, except where small sections share one.
    """

    small: int = option(
        50, "Sections of at most this size may share a chunk with their neighbours.", "tokens", 0, MAX_SIZE
    )


@dataclass(frozen=True, slots=True)
class Code(Options):
    """Keeps functions, classes and methods whole (tree-sitter); a large one is cut at its statements.

    Comments and decorators stay with what they describe, and the signatures around a chunk are its headings.
    """


@dataclass(frozen=True, slots=True)
class Page(Options):
    """Makes a chunk of each page; a large page is cut by its structure."""

    small: int = option(
        50,
        "Neighbouring pages of at most this size share a chunk if they fit; 0 keeps all apart.",
        "tokens",
        0,
        MAX_SIZE,
    )


@dataclass(frozen=True, slots=True)
class Slides(Page):
    """Makes a chunk of each slide; a large slide is cut by its structure."""

    small: int = option(
        0,
        "Neighbouring slides of at most this size share a chunk if they fit; 0 keeps all apart.",
        "tokens",
        0,
        MAX_SIZE,
    )


@dataclass(frozen=True, slots=True)
class Rows(Options):
    """Groups whole rows, with the header of the table in the context.

    A row is cut only if it alone is longer than `size`. Other text is split by `structure`.
    """

    rows: int = option(0, "The maximum number of rows in a chunk; 0 is as many as fit.", "rows", 0, _MOST_ROWS)


@dataclass(frozen=True, slots=True)
class Pairs(Options):
    """Keeps a question with its answer: FAQ headings, "Q:" lines, bold lines that ask, columns of a table.

    The parts of a long answer have the question in their context.
    """

    together: bool = option(False, "Let neighbouring pairs share a chunk if they fit.")


@dataclass(frozen=True, slots=True)
class Conversation(Options):
    """Groups the turns of a dialogue, until there is a pause."""

    gap: int = option(
        30,
        "Turns that are this far apart or farther never share a chunk, if they have times.",
        "minutes",
        1,
        _MOST_MINUTES,
    )


@dataclass(frozen=True, slots=True)
class Mail(Options):
    """Keeps headers and new text apart from quoted history; each part says who wrote it."""


@dataclass(frozen=True, slots=True)
class Log(Options):
    """Groups the entries of a log, each with its stack trace, by windows of time."""

    window: int = option(
        600,
        "Entries in different windows of this length never share a chunk; 0 is no window.",
        "seconds",
        0,
        _MOST_SECONDS,
    )


@dataclass(frozen=True, slots=True)
class Legal(Options):
    """Keeps numbered clauses, articles and definitions whole; a chunk never crosses a clause heading.

    Clauses under one number may share a chunk, the deeper ones first. The context names the clauses above.
    """
