// Document: the canonical text with the bounds of its chunks, its outline, its regions, and what changed in it.
import { html, useEffect, useMemo } from "./vendor/preact-htm.js";
import { ask, documentPath, path, useAnswer, useQuestion, useRows } from "./ask.js";
import { changed } from "./changed.js";
import { Answer, Empty, Failure, ToDocument, Type } from "./parts.js";
import { quoted } from "./questions.js";
import { go, link } from "./state.js";
import { colour } from "./types.js";
import { number, plural, slicer, time } from "./words.js";

const MOST_CHARACTERS = 5000000; // as many as the API gives

export function Document({ place }) {
  const { uri } = place;
  const own = useAnswer(`document ${place.store} ${place.at} ${uri}`, (signal) =>
    ask(path(documentPath(uri), { max_characters: MOST_CHARACTERS }), undefined, signal));
  const chunks = useQuestion("chunks_of", { uri });
  const regions = useQuestion("regions_of", { uri });
  if (own.error) return html`<${Failure} error=${own.error} /><p><a href=${link("documents")}>All documents</a></p>`;
  return html`<${Answer} of=${own} what="Reading the document">${(answer) => html`
    <${Title} answer=${answer} place=${place} />
    <${Answer} of=${chunks} what="Reading its chunks">${(rows) => html`
      <${Cut} place=${place} answer=${answer} rows=${rows} regions=${regions.value ?? []} />`}<//>`}<//>`;
}

function Title({ answer, place }) {
  const row = answer.document;
  const facts = [
    [row.format + (row.language ? ` (${row.language})` : "")], [plural(row.chunks, "chunk")], [`${number(row.characters)} characters`],
    row.author && [`by ${row.author}`], row.modified && [`of ${time(row.modified)}`], row.status !== "ok" && [row.status],
  ].filter(Boolean);
  return html`
    <h1><bdi>${row.title || row.uri}</bdi> <${Type} of=${row.content_type} /></h1>
    <p class="told"><bdi>${row.uri}</bdi> · ${facts.flat().join(" · ")}
      ${/^https?:/.test(row.source_url) && html` · <a href=${row.source_url} rel="noreferrer noopener">original</a>`}</p>
    ${(row.warnings ?? []).map((one) => html`<p class="warning"><b>Note.</b> ${one}</p>`)}
    <${Versions} place=${place} />
  `;
}

/** A choice of an earlier snapshot to compare this document with. */
function Versions({ place }) {
  const kept = useQuestion("snapshots");
  const others = (kept.value ?? []).slice(1);
  if (!others.length) return null;
  return html`
    <p><label>Changes since snapshot <select value=${place.since ?? ""} onChange=${(event) => go("document", { ...place, view: "", since: event.target.value })}>
      <option value="">choose</option>
      ${others.map((one) => html`<option value=${one.snapshot}>${one.snapshot}, ${time(one.created)}</option>`)}
    </select></label></p>
  `;
}

function Cut({ place, answer, rows, regions }) {
  const leaves = useMemo(() => rows.filter((row) => row.children === 0 && row.end_char > row.start_char), [rows]);
  const cut = useMemo(() => slicer(answer.text), [answer.text]);
  const blocks = useMemo(() => blocksOf(leaves, answer.end_char, cut), [leaves, cut]);
  const chosen = rows.find((row) => row.chunk_id === place.chunk);
  useEffect(() => chosen && document.getElementById(`chunk-${chosen.ordinal}`)?.scrollIntoView({ block: "center" }), [place.chunk]);
  const choose = (row) => go("document", { ...place, view: "", chunk: row.chunk_id }, true);
  return html`
    <div class="document">
      <${Outline} rows=${leaves} choose=${choose} />
      ${place.since ? html`<${Changes} place=${place} now=${answer.text} />` : html`<${Text} blocks=${blocks} chosen=${chosen} choose=${choose} />`}
      <aside aria-label="The chosen chunk">
        ${chosen ? html`<${About} row=${chosen} regions=${regions} rows=${rows} />` : html`<${Regions} regions=${regions} />`}
      </aside>
    </div>
  `;
}

/**
 * Return the text in blocks that end with a line, each a list of pieces { text, start, owners }. A piece belongs to one
 * chunk, to several where chunks overlap, or to none. Blocks let the browser draw only what is to be seen.
 */
function blocksOf(leaves, end, cut) {
  const bounds = [...new Set([0, end, ...leaves.flatMap((row) => [row.start_char, row.end_char])])].sort((one, other) => one - other);
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

const Text = ({ blocks, chosen, choose }) => html`
  <article class="canonical" aria-label="The text and its chunks">
    ${blocks.map((pieces) => html`<div class="block">${pieces.map((piece) => html`<${Piece} piece=${piece} chosen=${chosen} choose=${choose} />`)}</div>`)}
  </article>
`;

function Piece({ piece, chosen, choose }) {
  const [first, ...others] = piece.owners;
  if (!first) return html`<span class="free">${piece.text}</span>`;
  const own = piece.owners.at(-1);
  const classes = ["piece", own.ordinal % 2 && "odd", others.length && "overlap", piece.owners.includes(chosen) && "chosen"];
  const begins = own.start_char === piece.start;
  return html`<span class=${classes.filter(Boolean).join(" ")} id=${begins ? `chunk-${own.ordinal}` : null} style=${{ "--colour": colour(own.content_type) }}
    onClick=${() => getSelection().isCollapsed && choose(own)}>${begins && html`<button type="button" class="bound" title=${`${own.strategy}, ${plural(own.tokens, "token")}`}
      onClick=${() => choose(own)}>${own.ordinal}</button>`}${piece.text}</span>`;
}

/** The headings of the chunks, in order, each once. */
function Outline({ rows, choose }) {
  const seen = new Map();
  for (const row of rows) row.headings.forEach((_, depth) => {
    const key = row.headings.slice(0, depth + 1).join("\u0000");
    if (!seen.has(key)) seen.set(key, { name: row.headings[depth], depth, row });
  });
  return html`
    <nav class="outline" aria-label="Headings">
      <h2>Headings</h2>
      ${seen.size ? html`<ul>${[...seen.values()].map((one) => html`<li style=${{ "--depth": one.depth }}>
        <button type="button" onClick=${() => choose(one.row)}><bdi>${one.name}</bdi></button></li>`)}</ul>` : html`<p>It has none.</p>`}
    </nav>
  `;
}

const Regions = ({ regions }) => html`
  <h2>Regions</h2>
  <p>Choose a chunk in the text to see what made it.</p>
  <ul class="plain">${regions.map((one) => html`<li><${Region} of=${one} /></li>`)}</ul>
`;

const Region = ({ of }) => html`
  <${Type} of=${of.content_type} /> ${of.score.toFixed(2)}${of.runner_up && html`, before ${of.runner_up} ${of.runner_up_score.toFixed(2)}`}
  <br />characters ${number(of.start_char)} to ${number(of.end_char)}, by <code>${of.strategy}</code> ${of.options !== "{}" && html`<code>${of.options}</code>`}
  ${of.evidence && html`<br /><small>${Array.isArray(of.evidence) ? of.evidence.join("; ") : of.evidence}</small>`}
`;

function About({ row, regions, rows }) {
  const region = regions.find((one) => one.start_char <= row.start_char && row.start_char < one.end_char);
  const parent = rows.find((one) => one.chunk_id === row.parent_id);
  const near = useRows(`SELECT n.chunk_id, n.uri, n.similarity FROM neighbours(${quoted(row.chunk_id)}, 5) AS n`);
  return html`
    <h2>Chunk ${row.ordinal}</h2>
    <dl>
      <dt>Type</dt><dd><${Type} of=${row.content_type} /></dd>
      <dt>Strategy</dt><dd><code>${row.strategy}</code>${row.role && ` (${row.role})`}</dd>
      <dt>Tokens</dt><dd class="figure">${number(row.tokens)}</dd>
      <dt>Span</dt><dd>${number(row.start_char)} to ${number(row.end_char)}, line ${number(row.line)}${row.page != null ? `, page ${row.page}` : ""}</dd>
      ${row.note && html`<dt>Changed</dt><dd>${row.note}</dd>`}
      ${row.headings.length > 0 && html`<dt>Headings</dt><dd dir="auto">${row.headings.join(" › ")}</dd>`}
      ${parent && html`<dt>Parent</dt><dd>chunk ${parent.ordinal}${parent.role && ` (${parent.role})`}</dd>`}
      <dt>Id</dt><dd><code>${row.chunk_id}</code></dd>
    </dl>
    <h3>Context</h3>
    <p class="context" dir="auto">${row.context || "None: the text is embedded alone."}</p>
    ${region && html`<h3>Its region</h3><p><${Region} of=${region} /></p>`}
    <h3>Nearest chunks</h3>
    <${Answer} of=${near} what="Comparing vectors">${(found) => html`<ul class="plain">${found.map((one) => html`<li>
      <span class="figure">${one.similarity.toFixed(2)}</span> <${ToDocument} uri=${one.uri} chunk=${one.chunk_id} /></li>`)}</ul>`}<//>
  `;
}

/** The lines that differ between the text of an earlier snapshot and that of now. */
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
