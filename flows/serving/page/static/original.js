// Original: a page of a document's file, with the boxes of its chunks.
import { html, useEffect, useRef } from "./vendor/preact-htm.js";
import { ask, path, useAnswer } from "./ask.js";
import { Busy, Failure, showing } from "./parts.js";
import { isReport } from "./report.js";
import { lasting } from "./state.js";
import { colour } from "./types.js";
import { number } from "./words.js";

const SHORTEST_LINE = 3; // letters and digits; a shorter line occurs in many chunks
const PAGED = ["pdf"];
const SHOWN_PX = 60; // of a box and of the page above it
const A4 = "595 / 842"; // the space of a page while it loads, so that what is below it does not move

/** Return whether pages of documents of this format can be shown. */
export const hasPages = (format) => !isReport && PAGED.includes(format);

/** Use the places of a document's elements, each [start, end, page, left, top, right, bottom] in points. */
export function usePlaces(uri, wanted) {
  const { store, at } = lasting();
  return useAnswer(wanted ? `places ${store} ${at} ${uri}` : null, (signal) => ask(path("places", { uri }), undefined, signal));
}

function usePage(uri, page) {
  const { store, at } = lasting();
  return useAnswer(`original ${store} ${at} ${uri} ${page}`, (signal) => ask(path("original", { uri, page }), undefined, signal));
}

/** The page. `cut` returns the text of a span, `turn` goes to another page, `choose` to a chunk. */
export function Original({ uri, page, places, leaves, chosen, cut, turn, choose }) {
  const found = usePage(uri, page);
  const drawn = found.value;
  const figure = useRef();
  useEffect(() => reveal(figure.current), [chosen?.chunk_id, drawn]);
  if (found.error) return html`<${Failure} error=${found.error} />`;
  if (!drawn) return html`<div class="original"><${Busy} what="Drawing the page" /><div class="sheet" style=${{ aspectRatio: A4 }}></div></div>`;
  if (drawn.refused) return html`<${Refusal} of=${drawn.refused} turn=${turn} />`;
  const boxes = leaves.flatMap((row) => boxesOf(row, places, drawn, cut));
  return html`
    <figure class="original" ref=${figure}>
      <${Pager} page=${page} pages=${drawn.pages} turn=${turn} />
      <div class="sheet" style=${{ aspectRatio: `${drawn.width} / ${drawn.height}` }}>
        <img src=${`data:image/png;base64,${drawn.png}`} alt=${`Page ${drawn.number} of the original of ${uri}`} />
        <svg viewBox=${`0 0 ${drawn.width} ${drawn.height}`} aria-hidden="true">
          ${boxes.map(({ row, box: [left, top, right, bottom], sure }) => html`<rect x=${left} y=${top} width=${right - left} height=${bottom - top}
            class=${[row === chosen && "chosen", !sure && "about"].filter(Boolean).join(" ")} style=${{ "--colour": colour(row.content_type) }} onClick=${() => choose(row)} />`)}
        </svg>
      </div>
      <${Ahead} uri=${uri} page=${page + 1} pages=${drawn.pages} />
      ${chosen && !boxes.some((one) => one.row === chosen) && html`<p class="told">Chunk ${chosen.ordinal} has no place on this page.</p>`}
    </figure>
  `;
}

const Pager = ({ page, pages, turn }) => html`
  <figcaption>
    <button type="button" disabled=${page <= 1} onClick=${() => turn(page - 1)} aria-label="Page before">‹</button>
    <label>Page <input type="number" min="1" max=${pages} ref=${showing(page)} onChange=${(event) => turn(Number(event.target.value))} /></label>
    of ${number(pages)}
    <button type="button" disabled=${page >= pages} onClick=${() => turn(page + 1)} aria-label="Page after">›</button>
  </figcaption>`;

const WHOLE = ["unreadable", "unsupported"]; // reasons that apply to the whole file, and so to all pages

/** Why there is no picture. If only one page cannot be drawn, the buttons for the others stay. */
const Refusal = ({ of: { reason, message, number: page, pages }, turn }) => WHOLE.includes(reason)
  ? html`<p class="told" role="status">The pages of the original cannot be shown: ${message}.</p>`
  : html`<figure class="original">
      ${pages > 1 && html`<${Pager} page=${page} pages=${pages} turn=${turn} />`}
      <p class="told" role="status">Page ${page} of the original cannot be shown: ${message}.</p></figure>`;

/** Scroll only the page's container until the box of the chosen chunk is visible. */
function reveal(figure) {
  const [box, holder] = [figure?.querySelector("rect.chosen"), figure?.closest("aside")];
  if (!box) return;
  const [own, seen] = [box.getBoundingClientRect(), holder.getBoundingClientRect()];
  if (own.top < seen.top || own.top + SHOWN_PX > seen.bottom) holder.scrollTop += own.top - seen.top - SHOWN_PX;
}

/** Load the next page ahead, so that it is there when the user turns to it. */
function Ahead({ uri, page, pages }) {
  return page <= pages && html`<${Asked} key=${page} uri=${uri} page=${page} />`;
}

function Asked({ uri, page }) {
  usePage(uri, page);
  return null;
}

/**
 * Return the boxes of a chunk on a page. An element within the chunk has its own box. Of an element that is cut, only
 * the lines whose words are in the chunk count. If none is found, as in tables, the whole box is marked as uncertain.
 */
function boxesOf(row, places, drawn, cut) {
  const own = places.filter(([start, end, page]) => page === drawn.number && start < row.end_char && end > row.start_char);
  return own.map(([start, end, , ...box]) => {
    if (row.start_char <= start && end <= row.end_char) return { row, box, sure: true };
    const words = plain(cut(Math.max(start, row.start_char), Math.min(end, row.end_char)));
    const lines = drawn.lines.filter((line) => inside(line.box, box) && plain(line.text).length >= SHORTEST_LINE && words.includes(plain(line.text)));
    return lines.length ? { row, box: around(lines.map((line) => line.box)), sure: true } : { row, box, sure: false };
  });
}

const plain = (text) => text.replace(/[^\p{L}\p{N}]+/gu, "").toLowerCase();
const inside = ([left, top, right, bottom], [l, t, r, b]) => (left + right) / 2 >= l && (left + right) / 2 <= r && (top + bottom) / 2 >= t && (top + bottom) / 2 <= b;
const around = (boxes) => [0, 1, 2, 3].map((side) => Math[side < 2 ? "min" : "max"](...boxes.map((box) => box[side])));
