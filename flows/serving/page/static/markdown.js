// Markdown: render tables, headings, code and emphasis of a text, as text in elements and never as the document's markup.
import { html, useState } from "./vendor/preact-htm.js";
import { figureOf, hasFigure, Pictured, piecesOf } from "./pictured.js";
import { lit, number } from "./words.js";

const SHORT = 24; // characters of a cell that is kept on one line, such as a date with a time
const MOST_ROWS = 100; // of a rendered table; a longer one is shown as exact text
const ROW = /^\s*\|.*\|\s*$/;
const RULE = /^\s*\|(\s*:?-+:?\s*\|)+\s*$/;
const HEADING = /^(#{1,6})\s+(\S.*)$/;
const FENCE = /^\s*(```|~~~)(.*)$/;
const TAG = /<\/?[A-Za-z][^<>]*>/g; // in a heading: documentation puts anchors and icons there
const INLINE = /(?:`([^`\n]+)`|\*\*([^*\n]+)\*\*)/; // code and strong text
const BAR = /(?<!\\)\|/; // not escaped by a backslash
const AS_IT_IS = ["code", "log", "data"]; // types in which "#" and "|" have other meanings
// A line of prose that an editor broke: it is long, and the next line continues its sentence. Lists, verses and addresses
// have shorter lines, or lines that begin with a capital after a full stop.
const BROKEN = /^(?=.{50}).*[^\s.!?:;|\\]$/u;
const GOES_ON = /^(?:\p{Ll}|[\p{Lu}\p{N}(“"'][^:|]*$)/u;

/** A text with the words that a search matched highlighted. */
export const Lit = ({ text, terms }) =>
  html`${lit(text, terms).map((piece) => (piece.lit ? html`<mark>${piece.text}</mark>` : piece.text))}`;

/** A text with code, figures and strong text rendered. */
const Line = ({ text, terms }) => html`<${Pieces} text=${text} terms=${terms} as=${Spoken} />`;

const Pieces = ({ text, terms, as: Words = Lit }) => html`${piecesOf(text).map((piece) => (piece.key
  ? html`<${Pictured} of=${piece} />` : html`<${Words} text=${piece} terms=${terms} />`))}`;

const Spoken = ({ text, terms }) => {
  const pieces = text.split(INLINE); // repeats: text, code or undefined, strong or undefined
  return html`${pieces.map((piece, place) => piece && html`<${AROUND[place % 3]}><${Lit} text=${piece} terms=${terms} /><//>`)}`;
};
const AROUND = [({ children }) => children, "code", "strong"];

/**
 * A text of a document with tables, headings, code and emphasis rendered, and with a `choice`, a switch to the exact
 * text. That is `own` if figures have other names in `text`. `type` is the content type. `context` is what precedes the
 * text when it is embedded, such as the header of a continued table. `cut` says that the last line is incomplete.
 */
export function Drawn({ text, own: itself = text, terms = [], type, context = "", cut = false, choice = true }) {
  const [exact, show] = useState(false);
  const parts = AS_IT_IS.includes(type) ? [{ lines: [text] }] : partsOf(cut ? wholeRows(text) : text, context);
  const plain = AS_IT_IS.includes(type) || parts.every((part) => part.lines && !part.joined && !isDrawn(part.lines.join("\n")));
  const source = exact || AS_IT_IS.includes(type);
  const own = exact || plain ? [{ exact: itself, source }] : parts;
  return html`<div>
    ${own.map((part, place) => html`<${Part} key=${place} of=${part} terms=${terms} more=${cut && place === own.length - 1} />`)}
    ${!plain && choice && html`<button type="button" class="exact" aria-pressed=${exact} onClick=${() => show(!exact)}>Exact text</button>`}
  </div>`;
}

const isDrawn = (text) => INLINE.test(text) || hasFigure(text);

/** Return whether a text has a table that can be rendered. */
export const hasTable = (text, context) => partsOf(text, context).some((part) => part.rows);

/** Only the tables of a text. */
export const Tables = ({ text, context }) => html`${partsOf(text, context).filter((part) => part.rows).map((part) => html`<${Part} of=${part} terms=${[]} />`)}`;

function Part({ of, terms, more }) {
  if (of.figure) return html`<${Pictured} of=${of.figure} />`;
  if (of.rows) return html`<${Grid} of=${of} terms=${terms} />`;
  if (of.heading) return html`<p class="heading" dir="auto"><${Line} text=${of.heading} terms=${terms} /></p>`;
  if (of.code) return html`<pre class="fenced"><${Lit} text=${of.code.join("\n")} terms=${terms} />${more && " …"}</pre>`;
  const shown = of.exact === undefined ? html`<${Line} text=${of.lines.join("\n")} terms=${terms} />` : html`<${Lit} text=${of.exact} terms=${terms} />`;
  return html`<p class=${of.source ? "text source" : "text"} dir="auto">${shown}${more && " …"}</p>`;
}

const Grid = ({ of: { head, rows, sides }, terms }) => html`
  <div class="scrolled" tabindex="0" role="region" aria-label="A table"><table class="drawn">
    ${head && html`<thead><tr>${head.map((cell, place) => html`<th scope="col" class=${sides[place]} dir="auto"><${Pieces} text=${cell} terms=${terms} /></th>`)}</tr></thead>`}
    <tbody>${rows.slice(0, MOST_ROWS).map((row) => html`<tr>${row.map((cell, place) => html`<td class=${`${cell.length > SHORT ? "wide" : ""} ${sides[place] ?? ""}`} dir="auto"><${Pieces} text=${cell} terms=${terms} /></td>`)}</tr>`)}</tbody>
  </table>${rows.length > MOST_ROWS && html`<p class="told">${number(rows.length - MOST_ROWS)} more rows: the exact text has them.</p>`}</div>`;

/** Return a text without an incomplete row at its end. */
function wholeRows(text) {
  const last = text.lastIndexOf("\n");
  return last > 0 && /^\s*\|/.test(text.slice(last + 1)) ? text.slice(0, last) : text;
}

/** Return the parts of a text: { lines }, { code }, { heading }, { figure } or { head, rows, sides }, in order. */
function partsOf(text, context = "") {
  const lines = text.split("\n");
  const parts = [];
  let code = beginsInCode(lines) ? [] : null; // the lines since a fence
  if (code) parts.push({ code });
  for (let at = 0; at < lines.length; at += 1) {
    if (FENCE.test(lines[at])) {
      code = code ? null : [];
      if (code) parts.push({ code });
      continue;
    }
    const end = code ? at : tableEnd(lines, at);
    const [heading, figure] = [HEADING.exec(lines[at]), figureOf(lines[at])];
    if (code) code.push(lines[at]);
    else if (figure) parts.push({ figure });
    else if (end > at) {
      parts.push(tableOf(lines.slice(at, end), at === 0 ? context : ""));
      at = end - 1;
    } else if (heading) parts.push({ heading: heading[2].replace(TAG, "").trim() || heading[2] });
    else if (parts.at(-1)?.lines) parts.at(-1).lines.push(lines[at]);
    else parts.push({ lines: [lines[at]] });
  }
  return parts.map(trimmed).map(flowing).filter((part) => part.lines?.length !== 0 && part.code?.length !== 0);
}

/** Return whether a text, such as a chunk of a longer one, begins within code, so that its first fence ends it. */
function beginsInCode(lines) {
  const fences = lines.map((line) => FENCE.exec(line)).filter(Boolean);
  return fences.length % 2 === 1 && fences[0][2].trim() === "";
}

/** Return a part of lines without blank ones at its ends: rendered elements have space between them anyway. */
function trimmed(part) {
  if (!part.lines) return part;
  const filled = part.lines.map((line) => line.trim() !== "");
  return { lines: part.lines.slice(Math.max(0, filled.indexOf(true)), filled.lastIndexOf(true) + 1) };
}

/** Return a part of lines with those joined that an editor broke: a screen has other widths. */
function flowing(part) {
  if (!part.lines) return part;
  const lines = [];
  part.lines.forEach((line, at) => {
    if (at > 0 && BROKEN.test(part.lines[at - 1]) && GOES_ON.test(line)) lines.push(`${lines.pop()} ${line}`);
    else lines.push(line);
  });
  return { lines, joined: lines.length < part.lines.length };
}

/** Return the end of the table that begins at a line, or that line if there is none. All rows have as many cells. */
function tableEnd(lines, at) {
  if (!ROW.test(lines[at])) return at;
  const width = cellsOf(lines[at]).length;
  let end = at;
  while (end < lines.length && ROW.test(lines[end]) && cellsOf(lines[end]).length === width) end += 1;
  return width > 1 ? end : at;
}

/** Return a table. Rows without a rule continue an earlier table, whose header is the matching line of `context`. */
function tableOf(lines, context) {
  const rows = lines.filter((line) => !RULE.test(line)).map(cellsOf);
  const rule = lines.find((line) => RULE.test(line));
  const sides = cellsOf(rule ?? "").map((cell) => (/^-+:$/.test(cell) ? "right" : ""));
  const before = context.split("\n").map((line) => line.split(" | ")).find((cells) => cells.length === rows[0]?.length);
  const head = rule !== undefined && lines.indexOf(rule) === 1 ? rows.shift() : before;
  return { head, rows, sides };
}

/** Return the cells of a row. Bars within a cell are escaped by a backslash. */
const cellsOf = (line) => line.trim().replace(/^\|/, "").replace(/\|$/, "").split(BAR).map((cell) => cell.trim().replaceAll("\\|", "|"));
