// Bounds: a text in which each chunk is tinted and numbered at its start.
import { Component, html, useEffect, useMemo, useRef, useState } from "./vendor/preact-htm.js";
import { colour } from "./types.js";
import { plural } from "./words.js";

const LONGEST_LINE = 20000; // characters; a longer line is divided into blocks, because browsers lay out a whole block at once
const STRETCH = 6000; // characters of a stretch: more than a screen shows
const NEAR = "100% 0px"; // of the window's height, above and below it: text this near is drawn ahead
const AT_ONCE = 4; // stretches drawn in one idle period, which takes less than a frame
const IDLE_MS = 50;
const SOURCE = ["code", "log", "data"]; // types shown in a monospaced font
const LINE = 80; // approximate characters; only affects the length of the scroll bar

/**
 * Return the text in blocks that end with a line, each a list of pieces { text, start, owners }. A piece belongs to one
 * chunk, to several where chunks overlap, or to none. With blocks, the browser draws only what is visible.
 */
export function blocksOf(leaves, end, cut, begin = 0) {
  const inside = leaves.flatMap((row) => [row.start_char, row.end_char]).filter((one) => one > begin && one < end);
  const bounds = [...new Set([begin, end, ...inside])].sort((one, other) => one - other);
  const sorted = [...leaves].sort((one, other) => one.start_char - other.start_char);
  const blocks = [[]];
  let [open, next] = [[], 0];
  for (let place = 0; place + 1 < bounds.length; place += 1) {
    const start = bounds[place];
    open = open.filter((row) => row.end_char > start);
    while (next < sorted.length && sorted[next].start_char <= start) open = [...open, sorted[next++]];
    const text = cut(start, bounds[place + 1]);
    if (ends(blocks.at(-1), start)) blocks.push([]);
    blocks.at(-1).push({ text, start, owners: open });
  }
  return blocks;
}

const ends = (block, start) => block.length > 0 && (block.at(-1).text.endsWith("\n") || start - block[0].start > LONGEST_LINE);

/** Return blocks in stretches { blocks, text, lines }, each of which is drawn at once. */
function stretchesOf(blocks) {
  const found = [];
  let length = STRETCH;
  for (const block of blocks) {
    if (length >= STRETCH) [length] = [0, found.push([])];
    found.at(-1).push(block);
    length += block.reduce((sum, piece) => sum + piece.text.length, 0);
  }
  return found.map((own) => {
    const text = own.flat().map((piece) => piece.text).join("");
    return { blocks: own, text, lines: text.split("\n").reduce((sum, line) => sum + 1 + Math.floor(line.length / LINE), 0) };
  });
}

/**
 * The text in its blocks. `choose` is called with the chunk that the user presses. Bounds are drawn near the visible
 * part first. The rest is plain text, which the browser can search and read out, until the browser is idle.
 */
export function Text({ blocks, chosen, choose }) {
  const stretches = useMemo(() => stretchesOf(blocks), [blocks]);
  const [near, setNear] = useState(() => new Set());
  const article = useRef();
  useEffect(() => watch(article.current, (found) => setNear((before) => new Set([...before, ...found]))), [stretches]);
  const first = Math.max(0, stretches.findIndex((own) => own.blocks.some((pieces) => has(pieces, chosen))));
  const drawn = (place) => near.has(place) || Math.abs(place - first) <= 1;
  useEffect(() => {
    const next = stretches.map((_, place) => place).filter((place) => !drawn(place)).slice(0, AT_ONCE);
    return next.length ? idly(() => setNear((before) => new Set([...before, ...next]))) : undefined;
  }, [stretches, near]);
  return html`
    <article class="canonical" aria-label="The text and its chunks" ref=${article}>
      ${stretches.map((own, place) => html`<${Stretch} key=${place} of=${own} held=${place === first} drawn=${drawn(place)} chosen=${chosen} choose=${choose} />`)}
    </article>
  `;
}

/** Call a function when the browser is idle; return a function that cancels this. */
function idly(call) {
  if (!globalThis.requestIdleCallback) { // Safari
    const timer = setTimeout(call, IDLE_MS);
    return () => clearTimeout(timer);
  }
  const asked = requestIdleCallback(call);
  return () => cancelIdleCallback(asked);
}

/** Report each stretch once, when it comes near the visible part. */
function watch(article, tell) {
  const places = new Map([...article.children].map((element, place) => [element, place]));
  const observer = new IntersectionObserver((entries) => {
    const found = entries.filter((one) => one.isIntersecting).map((one) => one.target);
    found.forEach((element) => observer.unobserve(element));
    if (found.length) tell(found.map((element) => places.get(element)));
  }, { rootMargin: NEAR });
  places.forEach((_, element) => observer.observe(element));
  return () => observer.disconnect();
}

class Stretch extends Component {
  shouldComponentUpdate({ of, held, drawn, chosen }) {
    return of !== this.props.of || held !== this.props.held || drawn !== this.props.drawn || (drawn && chosen !== this.props.chosen);
  }

  render({ of, held, drawn, chosen, choose }) {
    return html`<div class=${held ? "stretch held" : "stretch"} style=${{ "--lines": of.lines }}>${drawn
      ? of.blocks.map((pieces) => html`<${Block} pieces=${pieces} chosen=${chosen} choose=${choose} />`)
      : of.text}</div>`;
  }
}

const has = (pieces, chosen) => pieces.some((piece) => piece.owners.includes(chosen));

/** A block, drawn again only if the chosen chunk is or was in it: a long document has thousands of blocks. */
export class Block extends Component {
  shouldComponentUpdate({ pieces, chosen }) {
    return pieces !== this.props.pieces || (chosen !== this.props.chosen && (has(pieces, chosen) || has(pieces, this.props.chosen)));
  }

  render({ pieces, chosen, choose }) {
    return html`<div class="block" dir="auto">${pieces.map((piece) => html`<${Piece} piece=${piece} chosen=${chosen} choose=${choose} />`)}</div>`;
  }
}

function Piece({ piece, chosen, choose }) {
  const [first, ...others] = piece.owners;
  if (!first) return html`<span class="free">${piece.text}</span>`;
  const own = piece.owners.at(-1);
  const classes = ["piece", SOURCE.includes(own.content_type) && "source", own.ordinal % 2 && "odd", others.length && "overlap", piece.owners.includes(chosen) && "chosen"];
  const begins = own.start_char === piece.start;
  const press = choose && (() => getSelection().isCollapsed && choose(own));
  return html`<span class=${classes.filter(Boolean).join(" ")} id=${begins && choose ? `chunk-${own.ordinal}` : null} style=${{ "--colour": colour(own.content_type) }}
    onClick=${press}>${begins && html`<${Bound} of=${own} choose=${choose} />`}${piece.text}</span>`;
}

function Bound({ of, choose }) {
  const title = `${of.strategy}, ${plural(of.tokens, "token")}`;
  return choose
    ? html`<button type="button" class="bound" title=${title} onClick=${() => choose(of)}>${of.ordinal}</button>`
    : html`<span class=${of.cutHere ? "bound only" : "bound"} title=${title}>${of.ordinal}${of.cutHere && html`<span class="unseen"> begins only here </span>`}</span>`;
}
