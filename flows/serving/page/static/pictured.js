// Pictured: the figures of a document, each drawn from the picture that the store keeps.
import { html, useEffect, useState } from "./vendor/preact-htm.js";
import { pictureOf } from "./ask.js";

const FIGURE = /^\s*!\[([^\]]*)\]\(docmill:figure\/([0-9a-f]{32})\)\s*$/;

/** Return the figure that a line of a text is, as { key, alt }, or null. */
export function figureOf(line) {
  const [, alt, key] = FIGURE.exec(line) ?? [];
  return key ? { key, alt } : null;
}

/** A figure, with the words that its file gives in place of it; it is drawn when somebody comes near it. */
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
  if (shown.error) return html`<p class="told">${of.alt || "A figure"}: ${shown.error.message}</p>`;
  return html`<img class="pictured" src=${shown.source} alt=${of.alt || of.caption || "A figure without words"} width=${of.width} height=${of.height} />`;
}

/** The figures of a document or of a chunk, each with its caption. */
export const Figures = ({ of }) => of.map((one) => html`
  <figure key=${one.start_char}><${Pictured} of=${one} />
    <figcaption dir="auto">${one.caption || one.alt}${one.page != null && ` (page ${one.page})`}</figcaption></figure>`);
