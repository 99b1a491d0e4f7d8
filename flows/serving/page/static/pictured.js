// Pictured: the figures of a document, each drawn from the picture that the store keeps.
import { html, useEffect, useState } from "./vendor/preact-htm.js";
import { ask, documentPath, path, pictureOf, useAnswer } from "./ask.js";
import { lasting } from "./state.js";
import { slicer } from "./words.js";

const FIGURE = /!\[([^\]\n]*)\]\(docmill:figure\/([0-9a-f]{32})(?:\s+(?:"[^"\n]*"|'[^'\n]*'|\([^()\n]*\)))?\)/;
const ALONE = new RegExp(`^\\s*${FIGURE.source}\\s*$`);
const ANY = new RegExp(FIGURE.source, "g");
const OTHER = /!\[|<img\b/i; // other pictures, as Markdown or HTML name them
const BEGINS = new RegExp(`^(?:${OTHER.source})`, "i");
const UNTOLD = /[\[\]|\s]+/g; // characters that would end a figure's words or its table cell

/** Return the figure of a line as { key, alt }, or null. */
export function figureOf(line) {
  const [, alt, key] = ALONE.exec(line) ?? [];
  return key ? { key, alt } : null;
}

/** Return the words and figures of a text in order. */
export function piecesOf(text) {
  const parts = text.split(FIGURE); // repeats: words, a figure, and its key
  return parts.flatMap((part, at) => (at % 3 === 0 ? part || [] : at % 3 === 2 ? { key: part, alt: parts[at - 1] } : []));
}

/** Return whether a text contains a figure. */
export const hasFigure = (text) => FIGURE.test(text);

/**
 * Use the text of a chunk with its figures named by their keys. The text of a Markdown file has addresses instead, for
 * which the store knows the pictures that it keeps; no address is ever requested. `known` are the document's figures.
 */
export function useKeys(of, known) {
  const { store, at } = lasting();
  const { uri, text, start_char, end_char } = of;
  const asks = !known && uri && end_char && OTHER.test(text.replace(ANY, ""));
  const key = asks ? `figures ${store} ${at} ${uri} ${start_char} ${end_char}` : null;
  const found = useAnswer(key, (signal) => ask(path(documentPath(uri), { start_char, end_char }), undefined, signal));
  const figures = known ?? (asks && found.key === key ? found.value?.figures : null) ?? [];
  return figures.length ? withKeys(of, figures) : text;
}

function withKeys({ text, start_char }, figures) {
  const cut = slicer(text);
  const parts = [];
  let at = 0;
  for (const one of figures.toSorted((a, b) => a.start_char - b.start_char)) {
    const first = one.start_char - start_char;
    const last = one.end_char - start_char;
    if (first < at || !BEGINS.test(cut(first, last))) continue; // the figures may be those of another snapshot
    parts.push(cut(at, first), `![${(one.alt ?? "").replace(UNTOLD, " ")}](docmill:figure/${one.key})`);
    at = last;
  }
  return parts.join("") + cut(at, Infinity);
}

/** A figure with its alternative text. It is loaded when it comes near the visible part. */
export function Pictured({ of }) {
  const [shown, set] = useState({});
  useEffect(() => {
    const stop = new AbortController();
    let made;
    pictureOf(of.key, stop.signal).then(
      (source) => (stop.signal.aborted ? URL.revokeObjectURL(source) : set({ source: (made = source) })),
      (error) => stop.signal.aborted || set({ error }),
    );
    return () => (stop.abort(), made && URL.revokeObjectURL(made));
  }, [of.key]);
  if (shown.error) return html`<span class="told">${of.alt || "A figure"}: ${shown.error.message}</span>`;
  return html`<img class="pictured" src=${shown.source} alt=${of.alt || of.caption || "A figure without words"} width=${of.width} height=${of.height} />`;
}

/** The figures of a document or of a chunk, each with its caption. */
export const Figures = ({ of }) => of.map((one) => html`
  <figure key=${one.start_char}><${Pictured} of=${one} />
    <figcaption dir="auto">${one.caption || one.alt}${one.page != null && ` (page ${one.page})`}</figcaption></figure>`);
