"""Chunk tree: the chunks of a part of a document, the levels below them, and summaries."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from docmill.tasks.chunking.fit_spans import FittedSpan, Fitter
from docmill.tasks.context.contextualizers import nothing
from docmill.tasks.context.model_context import ChunkLead
from docmill.tasks.context.summary_sentences import most_central, prose_sentences
from docmill.tasks.model.prompt import Prompt
from docmill.tasks.split.parts.blocks import blocks
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.strategy_options import Level, Optimize, Options
from docmill.tasks.split.spans.cut_places import prose_cuts
from docmill.tasks.split.spans.pieces import LINE, Piece, fit, merge
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span, trim
from docmill.tasks.split.splitter import Splitter

SUMMARY = "summary"
NOWHERE = Span(0, 0)
_LEAST_SENTENCES = 5  # a summary of a shorter section would be most of the section
_MOST_SENTENCES = 2000  # to rank; ranking a longer section would take too long, and its beginning shows its subject
_SAID = 3  # sentences in a summary: one as its text, two as its context, where more would not fit
_PROSE = ("paragraph", "text", "quote", "list_item", "answer", "turn")


@dataclass(frozen=True, slots=True, eq=False)
class ChunkNode:
    """A fitted chunk, its role, its parent, and what `optimize` did to it.

    `about` is the span that a summary covers. `prompts` are those about a chunk and everything below it. `strategy` is
    the one that made the chunk, "" for that of the region.
    """

    fitted: FittedSpan
    role: str = ""
    parent: "ChunkNode | None" = None
    note: str = ""
    about: Span = NOWHERE
    prompts: tuple[Prompt, ...] = ()
    strategy: str = ""

    @property
    def depth(self) -> int:
        """Return the number of ancestors."""
        return self.parent.depth + 1 if self.parent else 0


class ChunkTree(NamedTuple):
    """The chunks of a part, how their contexts are written, and the name of the strategy that made the spans."""

    part: Part
    splitter: Splitter
    fitter: Fitter
    nodes: list[ChunkNode]
    telling: ChunkLead
    strategy: str


@dataclass(frozen=True, slots=True)
class _Grower:
    """Makes the chunks of one part by one strategy."""

    splitter: Splitter
    options: Options
    fitter: Fitter
    telling: ChunkLead

    def chunks(self, part: Part, spans: Sequence[Span], notes: Mapping[int, str]) -> Iterator[ChunkNode]:
        """Yield the chunk of each span, followed by the chunks below it; `notes` says what `optimize` did, by start."""
        fits = self.fitter.fit(spans, self.telling.lead)
        places, waiting = [fitted.span for fitted in fits], self.telling.waiting
        for number, fitted in enumerate(fits):
            prompts = self.fitter.teller.prompts(self.fitter.setting, places, number)
            told = self.fitter.phrase(self.fitter.tell(fitted, prompts, waiting), waiting)
            note = notes.get(fitted.span.start, "")
            node = ChunkNode(told, self.splitter.role, None, note, prompts=prompts, strategy=self.splitter.name)
            yield node
            yield from self.below(part, self.splitter.levels, node)

    def below(self, part: Part, levels: Sequence[Level], parent: ChunkNode) -> Iterator[ChunkNode]:
        """Yield the nodes below `parent`, each followed by its children, but none that only repeat their parent."""
        if not levels:
            return
        here = part.within(*parent.fitted.span)
        for fitted in self.fitter.fit(levels[0].split(here, self.options), self.telling.lead):
            node = parent
            if fitted.span != parent.fitted.span:
                told = self.fitter.tell(fitted, parent.prompts, self.telling.waiting)
                node = ChunkNode(told, levels[0].role, parent, prompts=parent.prompts, strategy=parent.strategy)
                yield node
            yield from self.below(here, levels[1:], node)


def grow(part: Part, splitter: Splitter, options: Options, fitter: Fitter) -> ChunkTree:
    """Return the chunks of a part, parents first, then the summaries of its sections if enabled."""
    lead = splitter.lead(part) if splitter.lead else nothing
    asked = part.lookup.asked
    proposed = splitter.propose(part, options)
    # Splitting has just asked for something that is missing, so other chunks will replace these.
    telling = ChunkLead(lead, part.lookup.asked > asked and not part.lookup.ahead)
    spans, notes = proposed.spans, dict[int, str]()
    if options.optimize is not None:
        spans, notes = optimize(part, spans, options.optimize, fitter.room)
    nodes = list(_Grower(splitter, options, fitter, telling).chunks(part, spans, notes))
    if options.summaries or fitter.teller.context.sums_up:
        nodes += filter(None, (summary(section, fitter, telling) for section in _sections(part)))
    return ChunkTree(part, splitter, fitter, nodes, telling, proposed.strategy)


def summary(section: Part, fitter: Fitter, telling: ChunkLead) -> ChunkNode | None:
    """Return the most central sentence of a section, with a summary as its context; None if the section is short.

    The language model writes the summary if one is configured; otherwise it is the next most central sentences.
    """
    prose = (block for block in blocks(section) if block.kind in _PROSE)
    sentences = [span for block in prose for span in prose_sentences(section.text, block.start, block.end)]
    if len(sentences) < _LEAST_SENTENCES:
        return None
    sentences = sentences[:_MOST_SENTENCES]
    best, *others = most_central(section.text, sentences, _SAID)
    about = Span(section.start, section.end)
    said, state = fitter.teller.summed_up(fitter.setting, about, telling.waiting)
    said = said or " ".join(" ".join(section.text[slice(*sentences[i])].split()) for i in sorted(others))
    fitted = fitter.saying(sentences[best], said, telling.lead)
    return ChunkNode(fitted._replace(state=state), SUMMARY, about=about) if fitted else None


def _sections(part: Part) -> Iterator[Part]:
    """Yield the parts from one heading to the next."""
    starts = [heading.start for heading in part.outline.headings]
    inner = starts[bisect_left(starts, part.start + 1) : bisect_left(starts, part.end)]
    for start, end in zip([part.start, *inner], [*inner, part.end], strict=True):
        yield part.within(start, end)


def in_order(nodes: Sequence[ChunkNode]) -> list[tuple[ChunkNode, int]]:
    """Return nodes by start, parents first, each with the number of rows between it and its parent, 0 without one."""
    ordered = sorted(nodes, key=lambda node: (node.fitted.span.start, -node.fitted.span.end, node.depth))
    rows: Mapping[int, int] = {id(node): row for row, node in enumerate(ordered)}
    return [(node, row - rows[id(node.parent)] if node.parent else 0) for row, node in enumerate(ordered)]


def optimize(part: Part, spans: Sequence[Span], bounds: Optimize, tokens: int) -> tuple[list[Span], dict[int, str]]:
    """Return spans within the bounds if possible, and what was done, by start: "merged 3", "split 2".

    `tokens` is the model's room. A chunk that is alone in its section may stay too small.
    """
    room = Room(part.tokens, min(bounds.max_tokens or tokens, tokens))
    least = min(bounds.min_tokens, room.tokens)
    notes: dict[int, str] = {}
    cut = [piece for span in spans for piece in _cut(part, trim(part.text, *span), room, notes)]
    found: list[Span] = []
    joined = 1
    for span in cut:
        if found and room.fits(found[-1].start, span.end) and _may_join(part, found[-1], span, least):
            found[-1] = Span(found[-1].start, max(found[-1].end, span.end))
            joined += 1
            notes[found[-1].start] = f"merged {joined}"
            notes.pop(span.start, None)
        else:
            found.append(span)
            joined = 1
    return found, notes


def _cut(part: Part, span: Span, room: Room, notes: dict[int, str]) -> list[Span]:
    if room.fits(*span):
        return [span]
    parts = merge(part.text, list(fit(part.text, Piece(*span, LINE), room, (prose_cuts,))), room)
    notes |= {one.start: f"split {len(parts)}" for one in parts}
    return parts


def _may_join(part: Part, left: Span, right: Span, least: int) -> bool:
    small = min(part.tokens.count(*left), part.tokens.count(*right)) < least
    kinds = {element.kind for element in part.index.left_out.within(left.end, max(left.end, right.start))}
    return small and "front_matter" not in kinds and part.outline.at(left.end - 1) == part.outline.at(right.start)
