// Document: the canonical text with the bounds of its chunks, its outline, regions and changes.
import { html, useEffect, useMemo, useState } from "./vendor/preact-htm.js";
import { ask, documentPath, path, useAnswer } from "./ask.js";
import { blocksOf, Text } from "./bounds.js";
import { changed } from "./changed.js";
import { Judge, useJudging } from "./judge.js";
import { Drawn, hasTable, Tables } from "./markdown.js";
import { Figures, useKeys } from "./pictured.js";
import { hasPages, Original, usePlaces } from "./original.js";
import { Answer, Choice, Empty, Failure, Nearest, ToDocument, Type } from "./parts.js";
import { isReport } from "./report.js";
import { go, link, parse, useMedia } from "./state.js";
import { Term } from "./terms.js";
import { colour } from "./types.js";
import { number, plural, slicer, time } from "./words.js";

const MOST_CHARACTERS = 5000000; // as many as the API gives
const LEAST_SEEN_PX = 60; // of a chunk's beginning, so that the edge does not cut off its first line

/** The view. It requests everything at once, so that no request waits for another one. */
export function Document({ place }) {
  const { uri } = place;
  const own = useAnswer(`document ${place.store} ${place.at} ${uri}`, (signal) =>
    ask(path(documentPath(uri), { max_characters: MOST_CHARACTERS }), undefined, signal));
  const cuts = useAnswer(`cuts ${place.store} ${place.at} ${uri}`, (signal) => ask(path("cuts", { uri }), undefined, signal));
  const outline = useAnswer(`outline ${place.store} ${place.at} ${uri}`, (signal) => ask(path("outline", { uri }), undefined, signal));
  const kept = useAnswer(`snapshots ${place.store}`, (signal) => ask(path("snapshots", { at: "" }), undefined, signal));
  const near = useAnswer(isReport || !place.chunk ? null : `near ${place.store} ${place.at} ${place.chunk}`, (signal) =>
    ask(path(`near/${encodeURIComponent(place.chunk)}`), undefined, signal));
  if (own.error) return html`<${Failure} error=${own.error} /><p><a href=${link("documents")}>All documents</a></p>`;
  return html`<${Answer} of=${own} what="Reading the document">${(answer) => html`
    <${Title} answer=${answer} place=${place} kept=${kept} />
    <${Answer} of=${cuts} what="Reading its chunks">${({ chunks, regions }) => html`
      <${Cut} place=${place} answer=${answer} rows=${chunks} regions=${regions} outline=${outline} near=${near} />`}<//>`}<//>`;
}

function Title({ answer, place, kept }) {
  const row = answer.document;
  const facts = [
    [row.format + (row.language ? ` (${row.language})` : "")], [plural(row.chunks, "chunk")], [`${number(row.characters)} characters`],
    row.author && [`by ${row.author}`], row.modified_stated && [`of ${time(row.modified_stated)}`], row.status !== "ok" && [row.status],
  ].filter(Boolean);
  return html`
    <h1><bdi>${row.title || row.uri}</bdi> <${Type} of=${row.content_type} /></h1>
    <p class="told"><bdi>${row.uri}</bdi> · ${facts.flat().join(" · ")}
      ${/^https?:/.test(row.source_url) && html` · <a href=${row.source_url} rel="noreferrer noopener">original</a>`}</p>
    ${(row.warnings ?? []).map((one) => html`<p class="warning"><b>Warning.</b> ${one}</p>`)}
    <p class="ways"><${Versions} place=${place} kept=${kept} />${!isReport && html` <a href=${link("compare", { what: "settings", uri: row.uri })}>Compare two ways to split it</a>`}</p>
  `;
}

/** A menu of earlier snapshots to compare this document with. */
function Versions({ place, kept }) {
  const others = (kept.value?.snapshots ?? []).toReversed().slice(1);
  if (!others.length) return null;
  return html`
    <label>Changes since snapshot <select value=${place.since ?? ""} onChange=${(event) => go("document", { ...place, view: "", since: event.target.value })}>
      <option value="">choose</option>
      ${others.map((one) => html`<option value=${one.snapshot}>${one.snapshot}, ${time(one.created)}</option>`)}
    </select></label>
  `;
}

function Cut({ place, answer, rows, regions, outline, near }) {
  const leaves = useMemo(() => rows.filter((row) => row.children === 0 && row.end_char > row.start_char), [rows]);
  const cut = useMemo(() => slicer(answer.text), [answer.text]);
  const blocks = useMemo(() => blocksOf(leaves, answer.end_char, cut), [leaves, cut]);
  const chosen = rows.find((row) => row.chunk_id === place.chunk);
  const paged = hasPages(answer.document.format);
  const places = usePlaces(answer.document.uri, paged);
  const set = (values) => go("document", { ...parse(location.hash), view: "", ...values }, true);
  const choose = (row) => set({ chunk: row.chunk_id, page: "" });
  const page = Number(place.page) || chosen?.page || 1;
  useEffect(() => chosen && show(document.getElementById(`chunk-${chosen.ordinal}`)), [place.chunk]);
  return html`
    <div class=${paged ? "document paged" : "document"}>
      <${Outline} found=${outline} rows=${leaves} choose=${choose} />
      ${place.since ? html`<${Changes} place=${place} now=${answer.text} />` : html`<div class="reading">
        <${Choice} label="How the text is shown" value=${place.as === "drawn" ? "drawn" : "text"} of=${SHOWN_AS} set=${(as) => set({ as: as === "drawn" ? as : "" })} />
        ${place.as === "drawn" ? html`<${Drawing} leaves=${leaves} cut=${cut} figures=${answer.figures ?? []} chosen=${chosen} choose=${choose} />` : html`<${Text} blocks=${blocks} chosen=${chosen} choose=${choose} />`}</div>`}
      <aside aria-label="The chosen chunk" class=${chosen ? "open" : ""}>
        ${chosen && html`<button type="button" class="close" onClick=${() => set({ chunk: "", page })} aria-label="Close">×</button>`}
        ${paged && html`<${Original} uri=${answer.document.uri} page=${page} places=${places.value?.places ?? []} leaves=${leaves}
          chosen=${chosen} cut=${cut} turn=${(to) => set({ page: to })} choose=${choose} />`}
        ${chosen ? html`<${About} row=${chosen} text=${cut(chosen.start_char, chosen.end_char)} regions=${regions} rows=${rows} near=${near} figures=${within(answer.figures, chosen)} uri=${answer.document.uri} asked=${place.q ?? ""} snapshot=${answer.snapshot} />` : html`<${Regions} regions=${regions} /><${Shown} figures=${answer.figures} />`}
      </aside>
    </div>
  `;
}

const SHOWN_AS = [["text", "Exact text"], ["drawn", "Drawn"]];

/** The chunks in order, with their tables, headings and code rendered. */
const Drawing = ({ leaves, cut, figures, chosen, choose }) => html`<article class="canonical drawing" aria-label="The chunks, drawn">${leaves.map((row) => html`
  <div class=${["block piece", row.ordinal % 2 && "odd", row === chosen && "chosen"].filter(Boolean).join(" ")} id=${`chunk-${row.ordinal}`} style=${{ "--colour": colour(row.content_type) }}>
    <button type="button" class="bound" onClick=${() => choose(row)}>${row.ordinal}</button>
    <${Piece} row=${row} text=${cut(row.start_char, row.end_char)} figures=${within(figures, row)} /></div>`)}</article>`;

const Piece = ({ row, text, figures }) => html`<${Drawn} text=${useKeys({ ...row, text }, figures)} type=${row.content_type} context=${row.context} choice=${false} />`;

/** Scroll to a place unless it is visible: what the user has just pressed must not move. */
function show(element) {
  if (!element) return;
  const { top, bottom } = element.getBoundingClientRect();
  const over = document.querySelector("aside.open"); // on a narrow screen it covers the lower half
  const end = getComputedStyle(over).position === "fixed" ? over.getBoundingClientRect().top : innerHeight;
  if (bottom < 0 || top > end - LEAST_SEEN_PX) scrollBy(0, top - end / 2);
}

/** The headings of the document. Each links to the chunk that contains it, or to the next one. */
function Outline({ found, rows, choose }) {
  const headed = (found.value?.sections ?? []).filter((one) => one.heading);
  const chunkAt = (start) => rows.find((row) => row.end_char > start);
  const wide = useMedia("(min-width: 60rem)"); // as in page.css; on narrow screens the headings are above the text, folded
  return html`
    <nav class="outline" aria-label="Headings"><details open=${wide}><summary><h2>Headings</h2></summary>
      ${headed.length > 0 && html`<ul>${headed.map((one) => html`<li style=${{ "--depth": one.headings.length - 1 }}>
        <button type="button" disabled=${!chunkAt(one.start_char)} onClick=${() => choose(chunkAt(one.start_char))}><bdi>${one.heading}</bdi></button></li>`)}</ul>`}
      ${found.value && !headed.length && html`<p>This document has none.</p>`}
      ${found.error && html`<${Failure} error=${found.error} />`}
    </details></nav>
  `;
}

const MOST_SHOWN = 20; // figures beside a document; those of a chunk are shown beside the chunk

const within = (figures, row) => (figures ?? []).filter((one) => row.start_char <= one.start_char && one.start_char < row.end_char);

/** The first figures of a document. */
const Shown = ({ figures = [] }) => figures.length > 0 && html`<h2>Figures</h2><${Figures} of=${figures.slice(0, MOST_SHOWN)} />
  ${figures.length > MOST_SHOWN && html`<p class="told">${number(figures.length - MOST_SHOWN)} more: choose a chunk to see its own.</p>`}`;

const Regions = ({ regions }) => html`
  <h2><${Term} of="region">Regions<//></h2>
  <p>Choose a chunk in the text to see what made it.</p>
  <ul class="plain">${regions.map((one) => html`<li><${Region} of=${one} /></li>`)}</ul>
`;

/** The options set for a region's strategy, such as "size 200". */
const optionsOf = ({ options }) => Object.entries(JSON.parse(options || "{}")).filter(([, value]) => value !== null && value !== false && value !== 0)
  .map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");

const Region = ({ of }) => html`
  <${Type} of=${of.content_type} /> ${of.score.toFixed(2)}${of.runner_up && html`, then ${of.runner_up} ${of.runner_up_score.toFixed(2)}`}
  <br />characters ${number(of.start_char)} to ${number(of.end_char)}, by <code>${of.strategy}</code> ${optionsOf(of)}
  ${of.evidence && html`<br /><small>${Array.isArray(of.evidence) ? of.evidence.join("; ") : of.evidence}</small>`}
`;

function About({ row, text, regions, rows, near, figures, uri, asked, snapshot }) {
  const region = regions.find((one) => one.start_char <= row.start_char && row.start_char < one.end_char);
  const parent = rows.find((one) => one.chunk_id === row.parent_id);
  return html`
    <h2>Chunk ${row.ordinal}</h2>
    ${!isReport && html`<${Judging} key=${row.chunk_id} hit=${{ ...row, uri }} asked=${asked} snapshot=${snapshot} />`}
    <dl>
      <dt><${Term} of="type">Type<//></dt><dd><${Type} of=${row.content_type} /></dd>
      <dt><${Term} of="strategy">Strategy<//></dt><dd><code>${row.strategy}</code>${row.role && ` (${row.role})`}</dd>
      <dt><${Term} of="tokens">Tokens<//></dt><dd class="figure">${number(row.tokens)}</dd>
      <dt><${Term} of="span">Span<//></dt><dd>${number(row.start_char)} to ${number(row.end_char)}, line ${number(row.line)}${row.page != null ? `, page ${row.page}` : ""}</dd>
      ${row.note && html`<dt>Changed</dt><dd>${row.note}</dd>`}
      ${row.headings.length > 0 && html`<dt>Headings</dt><dd dir="auto">${row.headings.join(" › ")}</dd>`}
      ${parent && html`<dt><${Term} of="parent">Parent<//></dt><dd>chunk ${parent.ordinal}${parent.role && ` (${parent.role})`}</dd>`}
      <dt>Id</dt><dd><code>${row.chunk_id}</code></dd>
    </dl>
    ${hasTable(text, row.context) && html`<h3>Its table, drawn</h3><${Tables} text=${text} context=${row.context} />`}
    ${figures.length > 0 && html`<h3>Its figures</h3><${Figures} of=${figures} />`}
    <h3><${Term} of="context">Context<//></h3>
    <p class="context" dir="auto">${row.context || "None: the text is embedded alone."}</p>
    ${row.phrasings.length > 0 && html`<h3>Phrasings</h3><ul class="context">${row.phrasings.map((one) => html`<li dir="auto">${one}</li>`)}</ul>`}
    ${region && html`<h3>Its region</h3><p><${Region} of=${region} /></p>`}
    <h3>Nearest chunks</h3>
    ${isReport ? html`<p class="told">A report has no vectors; <code>docmill serve</code> shows them.</p>` : html`<${Answer} of=${near} what="Comparing vectors">${(found) => html`<${Nearest} hits=${found.hits} />`}<//>`}
  `;
}

/** A judgement of the chosen chunk for a question: the one of the search, or one that the user types. */
function Judging({ hit, asked, snapshot }) {
  const [query, type] = useState(asked);
  const judging = useJudging(query.trim());
  return html`<details class="judging" open=${Boolean(asked)}><summary>Does it answer a question?</summary>
    <label class="question">Question <input value=${query} maxlength="2000" onInput=${(event) => type(event.target.value)} /></label>
    <${Judge} hit=${hit} judging=${judging} snapshot=${snapshot} />
  </details>`;
}

/** The lines that differ between an earlier snapshot's text and the current one. */
function Changes({ place, now }) {
  const before = useAnswer(`document ${place.store} ${place.since} ${place.uri}`, (signal) =>
    ask(path(documentPath(place.uri), { at: place.since, max_characters: MOST_CHARACTERS }), undefined, signal));
  if (before.error) return html`<${Empty} title=${`It was not in snapshot ${place.since}`}>Everything in it is new since then.<//>`;
  return html`<${Answer} of=${before} what="Reading the earlier text">${(answer) => html`<${Lines} of=${changed(answer.text, now)} />`}<//>`;
}

const Lines = ({ of }) => of.length === 0
  ? html`<${Empty} title="The same text">Nothing changed in this document.<//>`
  : html`<article class="changes" aria-label="Changed lines">${of.map((one) => html`<div class=${one.kind}>
      <span class="unseen">${one.kind === "gone" ? "Removed: " : one.kind === "new" ? "Added: " : ""}</span>${one.text || " "}</div>`)}</article>`;
