"""Tree: the chunks of a part of a document, what stands below them where a strategy has levels, and summaries."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from docmill.tasks.chunking.fitting import Fitted, Fitter
from docmill.tasks.model.prompt import Prompt
from docmill.tasks.split.parts.blocks import blocks
from docmill.tasks.split.parts.level import Level
from docmill.tasks.split.parts.optimize import optimize
from docmill.tasks.split.parts.options import Options
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.spans.central_sentences import most_central, prose_sentences
from docmill.tasks.split.spans.span import Span
from docmill.tasks.split.strategies import Splitter

SUMMARY = "summary"
NOWHERE = Span(0, 0)
_LEAST_SENTENCES = 5
_MOST_SENTENCES = 2000
_SAID = 3
_PROSE = ("paragraph", "text", "quote", "list_item", "answer", "turn")


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A chunk that fits, the role that its strategy gives it, its parent, and what `optimize` did to it.

    `about` is the stretch that a summary sums up, `prompts` what a language model is asked of a chunk and all below it;
    `strategy` is the one asked for, "" for that of the region.
    """

    fitted: Fitted
    role: str = ""
    parent: "Node | None" = None
    note: str = ""
    about: Span = NOWHERE
    prompts: tuple[Prompt, ...] = ()
    strategy: str = ""

    @property
    def depth(self) -> int:
        """Return how many chunks stand above this one."""
        return self.parent.depth + 1 if self.parent else 0


def grow(part: Part, splitter: Splitter, options: Options, fitter: Fitter) -> list[Node]:
    """Return the chunks of a part, each before those below it, then the summaries of its sections if asked for."""
    asked = part.lookup.asked
    spans, notes = splitter.split(part, options), dict[int, str]()
    fitter.teller.waiting = part.lookup.asked > asked and not part.lookup.ahead
    if options.optimize is not None:
        spans, notes = optimize(part, spans, options.optimize, fitter.room)
    nodes = list[Node]()
    fits = fitter.fit(spans)
    places = [fitted.span for fitted in fits]
    for number, fitted in enumerate(fits):
        prompts = fitter.teller.prompts(fitter.setting, places, number)
        note = notes.get(fitted.span.start, "")
        told = fitter.tell(fitted, prompts)
        node = Node(told, splitter.role, None, note, prompts=prompts, strategy=splitter.name)
        nodes += [node, *_below(part, splitter.levels, options, fitter, node)]
    return [*nodes, *(_summaries(part, fitter) if options.summaries or fitter.teller.context.sums_up else ())]


def _below(part: Part, levels: Sequence[Level], options: Options, fitter: Fitter, parent: Node) -> Iterator[Node]:
    """Yield the nodes below one, each with its own; one that says what its parent says is left out."""
    if not levels:
        return
    here = part.within(*parent.fitted.span)
    for fitted in fitter.fit(levels[0].split(here, options)):
        node = parent
        if fitted.span != parent.fitted.span:
            told = fitter.tell(fitted, parent.prompts)
            node = Node(told, levels[0].role, parent, prompts=parent.prompts, strategy=parent.strategy)
            yield node
        yield from _below(here, levels[1:], options, fitter, node)


def _summaries(part: Part, fitter: Fitter) -> Iterator[Node]:
    """Yield a summary of each section of a part that is long enough for one."""
    yield from filter(None, (summary(section, fitter) for section in _sections(part)))


def summary(section: Part, fitter: Fitter) -> Node | None:
    """Return the most central sentence of a stretch of five or more, with a summary of it as its context.

    That is what a language model says where it sums up, else the next central sentences.
    """
    prose = (block for block in blocks(section) if block.kind in _PROSE)
    sentences = [span for block in prose for span in prose_sentences(section.text, block.start, block.end)]
    if len(sentences) < _LEAST_SENTENCES:
        return None
    sentences = sentences[:_MOST_SENTENCES]
    best, *others = most_central(section.text, sentences, _SAID)
    about = Span(section.start, section.end)
    said, state = fitter.teller.summed_up(fitter.setting, about)
    said = said or " ".join(" ".join(section.text[slice(*sentences[i])].split()) for i in sorted(others))
    fitted = fitter.saying(sentences[best], said)
    return Node(fitted._replace(state=state), SUMMARY, about=about) if fitted else None


def _sections(part: Part) -> Iterator[Part]:
    """Yield the stretches from one heading to the next."""
    starts = [heading.start for heading in part.outline.headings]
    inner = starts[bisect_left(starts, part.start + 1) : bisect_left(starts, part.end)]
    for start, end in zip([part.start, *inner], [*inner, part.end], strict=True):
        yield part.within(start, end)


def in_order(nodes: Sequence[Node]) -> list[tuple[Node, int]]:
    """Return nodes by start, each before what lies in it, with how many rows before it its parent stands, or 0."""
    ordered = sorted(nodes, key=lambda node: (node.fitted.span.start, -node.fitted.span.end, node.depth))
    rows: Mapping[int, int] = {id(node): row for row, node in enumerate(ordered)}
    return [(node, row - rows[id(node.parent)] if node.parent else 0) for row, node in enumerate(ordered)]
