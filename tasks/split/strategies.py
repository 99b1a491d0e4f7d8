"""Splitting: from a parsed document to the spans that become its chunks, by one of several strategies."""

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
from docmill.tasks.split.parts.level import Level, Propose, Proposed, Split
from docmill.tasks.split.parts.lookup import Lookup
from docmill.tasks.split.parts.options import Options
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.spans.span import Span

__all__ = ["SPLITTERS", "Level", "Lookup", "Options", "Part", "Span", "Splitter", "options_of", "splitter_of"]


@dataclass(frozen=True, slots=True)
class Splitter:
    """A strategy; raise `version` whenever `split` gives other spans than before.

    `split(part, options)` proposes spans in order. The part may be a region of the document. The spans hold all of it
    that is not blank, front matter or furniture, and each is at most `options.size` tokens long, if tokens add up. It
    imports slow packages where it uses them, and counts tokens by `part.tokens` only.

    `asks` names the model that a strategy needs: "vectors" of the embedding model, "replies" of a language model. It
    asks `part.lookup` for them, and splits in a plainer way while they are missing. A strategy whose rows should then
    name the plainer one has `judged`, which gives the same spans with the name of the strategy that they are by.

    `role` is what its chunks are called where there are `levels` of more chunks below them. `lead(part)` gives, for a
    chunk, what its context should say besides the headings above it, such as the question that it answers. A strategy
    that `crosses` is called once for neighbouring regions of the same route.
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
        """Return the spans of a part, and the strategy that they are by."""
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
    """Return a strategy by name; raise ConfigError that names the nearest one."""
    if strategy not in SPLITTERS:
        raise ConfigError(f"strategy {strategy!r} does not exist; {nearest(strategy, SPLITTERS)}")
    return SPLITTERS[strategy]


def options_of(strategy: str, values: Mapping[str, Any]) -> Options:
    """Return a strategy's options; raise ConfigError for an unknown one or a wrong value."""
    kind = splitter_of(strategy).options
    names = [field.name for field in fields(kind)]
    for name in values:
        if name not in names:
            raise ConfigError(f"{strategy} has no option {name!r}; {nearest(name, names)}")
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(f"{strategy}: {error}") from None


def nearest(wrong: str, right: "Mapping[str, Any] | list[str]") -> str:
    """Return a hint for a wrong name: the nearest right one, or all right ones."""
    near = get_close_matches(wrong, right, 1)
    return f"the nearest is {near[0]!r}" if near else f"there are {', '.join(right)}"
