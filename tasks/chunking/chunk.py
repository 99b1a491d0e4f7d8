"""Chunk: split a parsed document, add a context to each chunk, and make sure that each chunk fits the model.

A chunk that does not fit is divided into parts, each with its own vector.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from tokenizers import Tokenizer

from docmill.storage.keys import embedding_key, hash_bytes, late_key
from docmill.storage.schema import Draft, Element, Parsed, indexed_text, part_readings
from docmill.tasks.chunking.chunk_options import FIGURE, ChunkOptions
from docmill.tasks.chunking.chunk_tree import ChunkNode, ChunkTree, grow, in_order, summary
from docmill.tasks.chunking.figure_chunks import figure_chunks
from docmill.tasks.chunking.fit_spans import Fitter
from docmill.tasks.chunking.route import Route, Routed
from docmill.tasks.context.context_input import ContextInput, context_input_of
from docmill.tasks.context.contextualizers import CONTEXTUALIZERS, contextualizer_of, nothing
from docmill.tasks.context.model_context import MOST_TOKENS, ChunkLead, ContextWriter
from docmill.tasks.counting.tokens import Tokens, load_tokenizer
from docmill.tasks.detect.regions import Region
from docmill.tasks.detect.type_scores import Verdict
from docmill.tasks.split.content.table import WIDEST_HEADER
from docmill.tasks.split.parts.model_lookup import Lookup
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.strategy_options import Options
from docmill.tasks.split.spans.cut_places import prose_cuts
from docmill.tasks.split.spans.pieces import GLUE, LINE, Piece, cut, fit_all, merge
from docmill.tasks.split.spans.reading_map import ReadingMap, reading_of
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span
from docmill.tasks.split.strategies import SPLITTERS, options_of


def chunk(parsed: Parsed, content_type: str, route: Route, tokenizer: Tokenizer, options: ChunkOptions) -> list[Draft]:
    """Return the chunks of a document that is a single region; see `chunk_regions`."""
    only = Region(0, len(parsed.text), Verdict(content_type, 1.0, "", 0.0, ()))
    return chunk_regions(parsed, [Routed(only, route, "")], tokenizer, options)


def chunk_regions(
    parsed: Parsed,
    routed: Sequence[Routed],
    tokenizer: Tokenizer,
    options: ChunkOptions,
    lookup: Lookup | None = None,
) -> list[Draft]:
    """Return a document's chunks in order; none has more than `options.longest` tokens, including its context.

    No chunk spans two regions, unless they have the same route and its strategy `crosses`; it then belongs to the
    region in which it begins. `Draft.tokens` is the exact number of tokens of its indexed text, including special
    tokens. If `lookup` is not complete afterwards, these chunks are not yet final.
    """
    wordless = _is_wordless(parsed)
    if wordless and not (options.described or options.pictured or options.read):
        return []
    # Tokenize the whole text once: every span is then measured by its offsets.
    # A late vector is computed from the document's original text: its window is a stretch of that.
    read = ReadingMap(parsed.text) if options.late else reading_of(parsed, options.kept)
    tokens = Tokens(parsed.text, tokenizer, read.text)
    measure = Tokens(parsed.text, load_tokenizer(options.sizes_by), read.text) if options.sizes_by else tokens
    part = Part.whole(parsed, measure, lookup)
    setting = context_input_of(parsed, part.outline, tokens.counter, options.context_tokens, options.window_tokens)
    grow_all = _bare if wordless else _all_grown
    grown = grow_all(part, routed, lambda name: _fitter(name, setting, (tokens, read), options, part.lookup), options)
    grown[:1] = _with_left_out(grown[:1], part, options)
    drafts = list(_drafts(setting, part, grown, routed, read))
    if options.parts:
        return [replace(one, parts=divide(one, tokens, options.parts, options.token_limit)) for one in drafts]
    return _with_windows(drafts, tokens, options.token_limit - tokens.counter.special) if options.late else drafts


def _all_grown(
    part: Part, routed: Sequence[Routed], fitter: Callable[[str], Fitter], options: ChunkOptions
) -> list[ChunkTree]:
    """Return the chunks of all regions; `fitter` makes the Fitter of a contextualizer."""
    groups = [(some[0].route.contextualizer or options.contextualizer, some) for some in _together(routed)]
    fitters = {name: fitter(name) for name in dict(groups)}
    return [one for name, some in groups for one in _grow(part, some, fitters[name])]


def _bare(
    part: Part, routed: Sequence[Routed], fitter: Callable[[str], Fitter], options: ChunkOptions
) -> list[ChunkTree]:
    """Return the first region without chunks, for a text without words: only its figures make chunks."""
    route = routed[0].route
    own = fitter(route.contextualizer or options.contextualizer)
    return [ChunkTree(part, SPLITTERS[route.strategy], own, [], ChunkLead(), route.strategy)]


def _is_wordless(parsed: Parsed) -> bool:
    """Return whether a document has only pictures and no words: a vector of their paths would be near to anything."""
    return {(one.kind, bool(one.attributes.get("alt"))) for one in parsed.elements} == {(FIGURE, False)}


def _fitter(
    name: str, setting: ContextInput, read: tuple[Tokens, ReadingMap], options: ChunkOptions, lookup: Lookup
) -> Fitter:
    tokens, _ = read
    context = contextualizer_of(name, options.by_model)
    # Without contexts, the tokens reserved for them are free for text.
    own = setting.with_budget(options.context_tokens if context.name != "none" else 0)
    own = own.with_widest(WIDEST_HEADER if own.budget else 0)
    room = options.longest - tokens.counter.special - own.budget
    most = min(MOST_TOKENS, options.token_limit - tokens.counter.special)
    teller = ContextWriter(context, lookup, options.by_model, options.phrasings, most)
    return Fitter(*read, own, teller, options.longest, room // 2)


def _together(routed: Sequence[Routed]) -> Iterator[list[Routed]]:
    """Yield the groups of regions that are split together."""
    some: list[Routed] = []
    for one in routed:
        crosses = all(SPLITTERS[own.strategy].crosses for own in one.route.ensemble)
        if some and not (one.route == some[-1].route and crosses):
            yield some
            some = []
        some.append(one)
    if some:
        yield some


def _grow(part: Part, some: Sequence[Routed], fitter: Fitter) -> Iterator[ChunkTree]:
    """Yield the chunks of regions for each of their strategies.

    If two strategies make the same chunk, the first one keeps it, unless it has levels: chunks refer to their parents.
    """
    here, seen = part.within(some[0].region.start, some[-1].region.end), set[tuple[Span, str]]()
    for route in some[0].route.ensemble:
        splitter, options = SPLITTERS[route.strategy], options_of(route.strategy, route.options).within(fitter.room)
        grown = grow(here, splitter, options, fitter)
        new = [one for one in grown.nodes if one.parent or splitter.levels or (one.fitted.span, one.role) not in seen]
        seen |= {(one.fitted.span, one.role) for one in grown.nodes}
        yield grown._replace(nodes=new)


def _with_left_out(grown: Sequence[ChunkTree], part: Part, options: ChunkOptions) -> Iterator[ChunkTree]:
    """Yield chunk trees, adding to the first one the document's chunks of elements that have none by default."""
    for one in grown:
        more = [*left_out(part, options.kept, one.fitter)] if options.kept else []
        more += figure_chunks(part, one.fitter, options) if FIGURE in options.kept else ()
        yield one._replace(nodes=[*one.nodes, *more]) if more else one


def _of_document(part: Part, grown: Sequence[ChunkTree]) -> Iterator[ChunkNode]:
    """Yield a document summary for each contextualizer that writes summaries, with the settings of its last region."""
    if len(part.outline.headings) > 1:
        last = {one.fitter.teller.context.name: one for one in grown if one.fitter.teller.context.sums_up}
        yield from filter(None, (summary(part, one.fitter, one.telling) for one in last.values()))


def _drafts(
    setting: ContextInput, part: Part, grown: Sequence[ChunkTree], routed: Sequence[Routed], read: ReadingMap
) -> Iterator[Draft]:
    pages, starts = PageNumbers(part.parsed), [one.region.start for one in routed]
    fallen_back = [one for one in grown if one.strategy != one.splitter.name]
    ordered = in_order([*(node for one in grown for node in one.nodes), *_of_document(part, grown)])
    lines = lines_at(part.text, [node.fitted.span.start for node, _ in ordered])
    for (node, above), line in zip(ordered, lines, strict=True):
        span, context, tokens, state, phrasings = node.fitted
        region = routed[max(0, bisect_right(starts, span.start) - 1)]
        yield Draft(
            start_char=span.start,
            end_char=span.end,
            text=part.text[span.start : span.end],
            context=context,
            headings=setting.headings(span),
            page=pages.at(span.start) or None,
            line=line,
            content_type=region.region.verdict.content_type,
            strategy=_strategy_at(span.start, fallen_back, node.strategy or region.route.strategy),
            tokens=tokens,
            role=node.role,
            depth=node.depth,
            above=above,
            note=node.note,
            context_state=state,
            about_start=node.about.start,
            about_end=node.about.end,
            unread=read.unread(*span),
            phrasings=phrasings,
        )


def _strategy_at(position: int, fallen_back: Sequence[ChunkTree], asked: str) -> str:
    """Return the strategy that split the text at a position: the requested one, unless that fell back on another."""
    return next((one.strategy for one in fallen_back if one.part.start <= position < one.part.end), asked)


def _with_windows(drafts: Sequence[Draft], tokens: Tokens, room: int) -> list[Draft]:
    found = windows(tokens, [Span(draft.start_char, draft.end_char) for draft in drafts], room)
    return [replace(draft, window_start=at.start, window_end=at.end) for draft, at in zip(drafts, found, strict=True)]


def vector_keys(text: str, drafts: Sequence[Draft], late: bool, space_id: str) -> tuple[tuple[str, ...], ...]:
    """Return the vector keys of each chunk of a canonical text, one for each part and phrasing."""
    if not late:
        return tuple(tuple(embedding_key(text, space_id) for text in _embedded_texts(one)) for one in drafts)
    return tuple(
        (late_key(text[first : one.window_end], one.start_char - first, one.end_char - first, space_id),)
        for one in drafts
        for first in [one.window_start]
    )


def _embedded_texts(draft: Draft) -> Iterator[str]:
    for read in part_readings(draft.text, draft.parts, draft.unread):
        yield indexed_text(draft.context, read)
    yield from draft.phrasings


def plugins_in(routed: Sequence[Routed], options: ChunkOptions) -> list[str]:
    """Return the plugins that split regions or write their contexts, each with its version."""
    strategies = {one.strategy for each in routed for one in each.route.ensemble} - SPLITTERS.own.keys()
    contexts = {each.route.contextualizer or options.contextualizer for each in routed} - CONTEXTUALIZERS.own.keys()
    versions = {name: SPLITTERS[name].version for name in strategies}
    versions |= {name: CONTEXTUALIZERS[name].version for name in contexts}
    return [f"{name} ({version})" for name, version in sorted(versions.items())]


def divide(draft: Draft, tokens: Tokens, size: int, limit: int) -> tuple[int, ...]:
    """Return the starts of a chunk's parts in its text, without the first; none if it has at most `size` tokens.

    Parts consist of whole sentences, unless a single sentence is longer than `size`. With the chunk's context and
    special tokens, a part has at most `limit` tokens.
    """
    span = Span(draft.start_char, draft.end_char)
    own = tokens.exact([span])[0]
    room = min(size, limit - (draft.tokens - own))
    if own <= room:
        return ()
    starts = _starts(tokens, span, room)
    while room > 1 and _longest(draft, tokens, starts) > limit:
        room //= 2
        starts = _starts(tokens, span, room)
    return starts


def _starts(tokens: Tokens, span: Span, size: int) -> tuple[int, ...]:
    room = Room(tokens, size)
    pieces = fit_all(tokens.text, [Piece(span.start, span.end, GLUE)], room, (prose_cuts,))
    return tuple(one.start - span.start for one in merge(tokens.text, list(pieces), room)[1:])


def _longest(draft: Draft, tokens: Tokens, starts: tuple[int, ...]) -> int:
    """Return the maximum tokens of a part as the model reads it, including special ones."""
    texts = [indexed_text(draft.context, read) for read in part_readings(draft.text, starts, draft.unread)]
    return max(tokens.counter.counts(texts)) + tokens.counter.special


def left_out(part: Part, kinds: Collection[str], fitter: Fitter) -> Iterator[ChunkNode]:
    """Yield chunks of elements of these kinds, each with its kind as its role.

    The entries of a table of contents share chunks, cut between lines. A repeated text, such as a running head, becomes
    one chunk; a text without letters, such as a page number, becomes none.
    """
    room = Room(part.tokens, min(Options().size, fitter.room))
    seen = set[str]()
    for kind, span in _runs(part, kinds):
        lines = cut(part.text, span, LINE, _line_ends(part.text, span))
        for fitted in fitter.fit(merge(part.text, list(lines), room), nothing):
            words = " ".join(part.text[slice(*fitted.span)].split())
            if words not in seen and any(map(str.isalpha, words)):
                seen.add(words)
                yield ChunkNode(fitted, role=kind)


def _runs(part: Part, kinds: Collection[str]) -> Iterator[tuple[str, Span]]:
    """Yield the kind and the span of each table of contents, and of each other element."""
    run: list[Element] = []
    for element in part.index.left_out.within(part.start, part.end):
        if run and not _goes_on(part.text, run[-1], element):
            yield run[0].kind, Span(run[0].start_char, run[-1].end_char)
            run = []
        if element.kind in kinds:
            run.append(element)
    if run:
        yield run[0].kind, Span(run[0].start_char, run[-1].end_char)


def _goes_on(text: str, before: Element, element: Element) -> bool:
    """Return whether a table of contents continues; a footer and the next page's header never belong together."""
    same = before.kind == element.kind == "toc"
    return same and not text[before.end_char : element.start_char].strip()


def _line_ends(text: str, span: Span) -> Iterator[tuple[int, int]]:
    place = text.find("\n", *span)
    while place >= 0:
        yield place + 1, LINE
        place = text.find("\n", place + 1, span.end)


class PageNumbers:
    """The pages of a document, counted from 1; 0 if its format has none."""

    def __init__(self, parsed: Parsed) -> None:
        paged = [element for element in parsed.elements if element.page]
        self._starts = [element.start_char for element in paged]
        self._pages = [element.page for element in paged]

    def at(self, position: int) -> int:
        """Return the page of a position: that of the last element starting at or before it."""
        found = bisect_right(self._starts, position) - 1
        return self._pages[max(0, found)] if self._pages else 0


def lines_at(text: str, positions: Sequence[int]) -> Iterator[int]:
    """Yield the line number of each position, from 1. Positions must ascend, so that the text is scanned once."""
    returns = "\r" in text
    line, since = 1, 0
    for position in positions:
        line += text.count("\n", since, position)
        if returns:  # "\r\n" ends one line, as does a lone "\r"
            line += text.count("\r", since, position) - text.count("\r\n", since, position)
        since = position
        yield line


_LEAST, _MOST = 3, 6
"""Eighths of a window that the chunks of one group fill, at least and at most.

More would leave too little room for the surrounding text; less would read the text many times over, because each group
has its own window. The text determines a place between the two: were they closer, an edit would move more windows.
"""
_EIGHTHS = 8  # of a whole


def windows(tokens: Tokens, spans: Sequence[Span], room: int) -> list[Span]:
    """Return the window of each span, in which its late vector is read; spans are given in order by start.

    A window has at most `room` tokens; a longer span is its own window. Neighbouring chunks share one as long as a
    quarter of it is left for the text around them, so windows overlap. The text itself decides where a group of chunks
    ends, as in content-defined chunking (Muthitacharoen, Chen and Mazieres, SOSP 2001), so an edit moves few windows.
    """
    found: list[Span] = []
    for group in _groups(tokens, spans, room):
        extent = Span(group[0].start, max(span.end for span in group))
        found += [_around(tokens, extent, room)] * len(group)
    return found


def _groups(tokens: Tokens, spans: Sequence[Span], room: int) -> Iterator[Sequence[Span]]:
    """Yield the spans in groups that fill three eighths to three quarters of a window; longer spans are alone."""
    first = 0
    while first < len(spans):
        last = _last(tokens, spans, first, room)
        yield spans[first:last]
        first = last


def _last(tokens: Tokens, spans: Sequence[Span], first: int, room: int) -> int:
    """Return the end of the group that begins at `first`: the possible end before the span of least hash."""
    start, end, cuts = spans[first].start, spans[first].end, list[int]()
    for number in range(first + 1, len(spans)):
        wider = max(end, spans[number].end)
        if tokens.count(start, wider) > room * _MOST // _EIGHTHS:
            return min(
                [*cuts, number], key=lambda i: hash_bytes(tokens.text[slice(*spans[i])].encode("utf-8", "replace"))
            )
        if tokens.count(start, end) >= room * _LEAST // _EIGHTHS:
            cuts.append(number)
        end = wider
    return len(spans)


def _around(tokens: Tokens, span: Span, room: int) -> Span:
    """Return a full window with the span in the middle, or off-centre at either end of the document."""
    spare = max(0, room - tokens.exact([span])[0])
    left = tokens.retreat(span.start, spare // 2)
    right = tokens.reach(span.end, spare - tokens.count(left, span.start))
    left = tokens.retreat(span.start, spare - tokens.count(span.end, right))
    wide = Span(min(left, span.start), max(right, span.end))
    return wide if tokens.exact([wide])[0] <= room else span
