// Bounds: a text in which each chunk has a tint, and a number where it begins.
import { Component, html } from "./vendor/preact-htm.js";
import { colour } from "./types.js";
import { plural } from "./words.js";

/**
 * Return the text in blocks that end with a line, each a list of pieces { text, start, owners }. A piece belongs to one
 * chunk, to several where chunks overlap, or to none. Blocks let the browser draw only what is to be seen.
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
    if (blocks.at(-1).length && blocks.at(-1).at(-1).text.endsWith("\n")) blocks.push([]);
    blocks.at(-1).push({ text, start, owners: open });
  }
  return blocks;
}

/** The text in its blocks; `choose` is told of the chunk that somebody presses. */
export const Text = ({ blocks, chosen, choose }) => html`
  <article class="canonical" aria-label="The text and its chunks">
    ${blocks.map((pieces) => html`<${Block} pieces=${pieces} chosen=${chosen} choose=${choose} />`)}
  </article>
`;

const has = (pieces, chosen) => pieces.some((piece) => piece.owners.includes(chosen));

/** A block is drawn again only where the chosen chunk begins or ceases to be: a long document has thousands. */
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
  const classes = ["piece", own.ordinal % 2 && "odd", others.length && "overlap", piece.owners.includes(chosen) && "chosen"];
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
