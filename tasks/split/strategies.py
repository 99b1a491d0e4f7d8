"""Strategies: the registry of splitters, and the checks of their options."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from docmill.storage.errors import ConfigError
from docmill.tasks.split.content.chat import Conversation, split_chat
from docmill.tasks.split.content.code import Code, split_code
from docmill.tasks.split.content.legal import Legal, clause_above, split_legal
from docmill.tasks.split.content.log import Log, split_log
from docmill.tasks.split.content.mail import Mail, split_mail, who_wrote
from docmill.tasks.split.content.paged import Page, Slides, split_pages, split_slides
from docmill.tasks.split.content.qa import Pairs, question_asked, split_pairs
from docmill.tasks.split.content.table import Rows, split_rows
from docmill.tasks.split.general.agentic import Agentic, propose_agentic, split_agentic
from docmill.tasks.split.general.cluster import Cluster, split_cluster
from docmill.tasks.split.general.hierarchical import LEVELS, Hierarchical, split_sections
from docmill.tasks.split.general.recursive import Recursive, split_recursive
from docmill.tasks.split.general.semantic import Semantic, split_semantic
from docmill.tasks.split.general.sentences import Sentence, split_sentences
from docmill.tasks.split.general.separator import Separator, split_separator
from docmill.tasks.split.general.structure import Structure, split_structure
from docmill.tasks.split.general.windowed import Fixed, Sliding, split_fixed, split_sliding
from docmill.tasks.split.parts.lookup import Lookup
from docmill.tasks.split.parts.options import Options
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.proposal import Level, Propose, Proposed, Split
from docmill.tasks.split.spans.span import Span

__all__ = ["SPLITTERS", "Level", "Lookup", "Options", "Part", "Span", "Splitter", "options_of", "splitter_of"]


@dataclass(frozen=True, slots=True)
class Splitter:
    """A strategy; raise `version` whenever `split` returns different spans.

    `split(part, options)` returns spans in order. The part may be a region of the document. The spans cover all of it
    that is not blank, front matter or furniture. Each has at most `options.size` tokens, where token counts are
    additive. Slow packages are imported inside `split`, and tokens are counted by `part.tokens` only.

    `asks` names the model that a strategy needs: "vectors" of the embedding model, or "replies" of a language model.
    The strategy gets them from `part.lookup`, and uses a simpler strategy while they are missing. If rows should name
    that simpler strategy, `judged` returns the same spans with the name of the strategy that made them.

    `role` names its chunks if there are `levels` of further chunks below them. `lead(part)` returns what the context of
    a chunk should say besides its headings, such as the question that it answers. A strategy that `crosses` is called
    once for neighbouring regions with the same route.
    """

    name: str
    version: int
    options: type[Options]
    split: Split
    role: str = ""
    levels: tuple[Level, ...] = ()
    crosses: bool = False
    asks: str = ""
    lead: Callable[[Part], Callable[[Span], str]] | None = None
    judged: Propose | None = None

    def propose(self, part: Part, options: Options) -> Proposed:
        """Return the spans of a part, and the name of the strategy that made them."""
        return self.judged(part, options) if self.judged else Proposed(self.split(part, options), self.name)


SPLITTERS: dict[str, Splitter] = {
    one.name: one
    for one in (
        Splitter("recursive", 5, Recursive, split_recursive),
        Splitter("structure", 5, Structure, split_structure),
        Splitter("sentence", 2, Sentence, split_sentences),
        Splitter("fixed", 1, Fixed, split_fixed, crosses=True),
        Splitter("sliding_window", 1, Sliding, split_sliding, crosses=True),
        Splitter("separator", 1, Separator, split_separator),
        Splitter("code", 1, Code, split_code),
        Splitter("semantic", 4, Semantic, split_semantic, asks="vectors"),
        Splitter("agentic", 2, Agentic, split_agentic, asks="replies", judged=propose_agentic),
        Splitter("cluster", 1, Cluster, split_cluster, asks="vectors"),
        Splitter("hierarchical", 4, Hierarchical, split_sections, "section", LEVELS),
        Splitter("page", 3, Page, split_pages),
        Splitter("slides", 3, Slides, split_slides),
        Splitter("table", 4, Rows, split_rows),
        Splitter("qa", 2, Pairs, split_pairs, lead=question_asked),
        Splitter("chat", 1, Conversation, split_chat),
        Splitter("email", 1, Mail, split_mail, lead=who_wrote),
        Splitter("log", 1, Log, split_log),
        Splitter("legal", 2, Legal, split_legal, lead=clause_above),
    )
}


def splitter_of(strategy: str) -> Splitter:
    """Return a strategy by name; raise ConfigError that suggests the nearest name."""
    if strategy not in SPLITTERS:
        raise ConfigError(f"strategy {strategy!r} does not exist; {nearest(strategy, SPLITTERS)}")
    return SPLITTERS[strategy]


def options_of(strategy: str, values: Mapping[str, Any]) -> Options:
    """Return a strategy's options; raise ConfigError for an unknown option or an invalid value."""
    kind = splitter_of(strategy).options
    # Before the call: a TypeError of Python's would not tell which names there are.
    names = [field.name for field in fields(kind)]
    for name in values:
        if name not in names:
            raise ConfigError(f"{strategy} has no option {name!r}; {nearest(name, names)}")
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(f"{strategy}: {error}") from None


def nearest(wrong: str, right: "Mapping[str, Any] | list[str]") -> str:
    """Return a hint for a wrong name: the nearest valid one, or all valid ones."""
    # One name: a second one would only make the reader choose.
    near = get_close_matches(wrong, right, 1)
    return f"the nearest is {near[0]!r}" if near else f"there are {', '.join(right)}"
