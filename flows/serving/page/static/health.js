// Health: questions about a store, each with a chart, its SQL, and links to the chunks or documents behind it.
import { html, useState } from "./vendor/preact-htm.js";
import { useQuestion } from "./ask.js";
import { Evaluations, Runs, toChange } from "./charts.js";
import { LONGEST, TEXT } from "./chunks.js";
import { written } from "./conditions.js";
import { Answer, Bar, List, Sql, ToDocument, Type } from "./parts.js";
import { statementOf } from "./questions.js";
import { isReport } from "./report.js";
import { link } from "./state.js";
import { Term } from "./terms.js";
import { colour } from "./types.js";
import { number, percent, plural, time } from "./words.js";

const MANY = 20000; // chunks; with more, comparing all vectors takes seconds and is done only on request
const MOST_OPEN = 20; // files shown for one reason of rejection; more would push the next question off the screen

export function Health({ place, status }) {
  const { chunks } = status;
  // The section named in the address comes first: charts still loading above it would push it away.
  const pictures = [...PICTURES].sort((one, other) => (other.id === place.see) - (one.id === place.see));
  return html`
    <h1>Health</h1>
    <details open=${!place.see}><summary>All questions</summary><nav class="contents" aria-label="Questions"><ul>${PICTURES.map((one) => html`<li><a href=${link("health", { see: one.id })}
      onClick=${(event) => (event.preventDefault(), document.getElementById(one.id).scrollIntoView({ behavior: "smooth" }))}>${one.title}</a></li>`)}</ul></nav></details>
    ${pictures.map((one) => html`<${Picture} key=${one.id} of=${one} waits=${one.heavy && chunks > MANY && !isReport} />`)}
  `;
}

function Picture({ of, waits }) {
  const [asked, ask] = useState(!waits);
  const rows = useQuestion(asked ? of.id : null);
  const Draw = of.draw;
  return html`
    <section class="picture" id=${of.id}>
      <h2>${of.title}</h2>
      ${asked ? html`<${Answer} of=${rows} what="Counting">${(found) => html`<${Draw} rows=${found} />`}<//>`
        : html`<p>This compares all vectors, which takes up to half a minute. <button type="button" onClick=${() => ask(true)}>Compare</button></p>`}
      <${Sql}>${statementOf(of.id)}<//>
    </section>
  `;
}

const Good = ({ children }) => html`<p class="good">${children}</p>`;

function Lengths({ rows }) {
  if (!rows.length) return html`<${Good}>There are no chunks yet.<//>`;
  const most = Math.max(...rows.map((row) => row.most), 1);
  const at = (tokens) => `${(100 * tokens) / most}%`;
  return html`
    <p>The box holds the middle half of the chunks. The line in it is the median; the thin line ends where 95 % of the chunks do.
      The scale ends at ${number(most)} tokens. A box leads to its chunks.</p>
    <div class="scrolled" tabindex="0" role="region" aria-label="Lengths by type and strategy"><table class="boxes">
      <thead><tr><th scope="col"><${Term} of="type">Type<//></th><th scope="col" class="roomy"><${Term} of="strategy">Strategy<//></th><th scope="col" class="right"><${Term} of="chunk">Chunks<//></th>
        <th scope="col" class="plot"><${Term} of="tokens">Tokens<//></th><th scope="col" class="right">Median</th><th scope="col" class="right">Longest</th></tr></thead>
      <tbody>${rows.map((row) => html`<tr>
        <td><${Type} of=${row.content_type} /><small class="narrow">${row.strategy}</small></td><td class="roomy">${row.strategy}</td>
        <td class="right"><a href=${link("chunks", { is: of(row), title: `Chunks of ${row.content_type} by ${row.strategy}` })}>${number(row.chunks)}</a></td>
        <td class="plot"><a class="box" style=${{ "--colour": colour(row.content_type) }} aria-hidden="true" tabindex="-1" href=${link("chunks", { is: of(row), title: `Chunks of ${row.content_type} by ${row.strategy}` })}>
          <i class="whisker" style=${{ left: at(row.least), width: at(row.p95 - row.least) }}></i>
          <i class="middle" style=${{ left: at(row.lower_quarter), width: at(row.upper_quarter - row.lower_quarter) }}></i>
          <i class="median" style=${{ left: at(row.median) }}></i></a></td>
        <td class="right">${number(Math.round(row.median))}</td>
        <td class="right"><a href=${link("chunks", { is: of(row), order: LONGEST, title: `Longest chunks of ${row.content_type} by ${row.strategy}` })}>${number(row.most)}</a></td>
      </tr>`)}</tbody></table></div>
  `;
}
const of = (row) => written([["content_type", "=", row.content_type], ["strategy", "=", row.strategy]]);

function Truncated({ rows: [{ chunks, cut, longest, token_limit: limit }] }) {
  if (!chunks) return html`<${Good}>There are no chunks yet.<//>`;
  const said = `${number(cut)} of ${plural(chunks, "chunk")} ${cut === 1 ? "is" : "are"} cut by the model's limit of ${number(limit)} tokens.`;
  const longer = written([["tokens", ">=", limit + 1], ["parts", "=", 0]]);
  return cut === 0 ? html`<${Good}>${said} The longest has ${number(longest)}.<//>`
    : html`<p><a href=${link("chunks", { is: longer, order: LONGEST, title: "Chunks that the model does not read to their end" })}>${said}</a>${" "}
      The end of such a chunk is not in its vector. Smaller chunks mend that: set <code>size</code> in <code>[split]</code>.</p>`;
}

const inside = (row) => written([["uri", "=", row.uri], ["start_char", ">=", row.start_char], ["end_char", "<=", row.end_char], ["children", "=", 0]]);
const Torn = ({ rows }) => rows.length === 0 ? html`<${Good}>None: every table is in one chunk.<//>` : html`
  <p>${plural(rows.length, "table")} in several chunks. Short tables in two or three pieces come first: a larger <code>size</code> keeps them whole. A long one in many pieces is fine, because each piece repeats the header of the table in its context.</p>
  <${List} caption="Torn tables" rows=${rows} columns=${[
    { name: "Document", wide: true, of: (row) => html`<${ToDocument} uri=${row.uri} />` },
    { name: "Pieces", right: true, of: (row) => html`<a href=${link("chunks", { is: inside(row), title: `A table of ${row.uri}` })}>${number(row.pieces)}</a>` },
    { name: "Characters", right: true, of: (row) => row.characters },
  ]} />`;

const Cut = ({ rows }) => rows.length === 0 ? html`<${Good}>None: every chunk of prose ends where a sentence or a paragraph ends.<//>` : html`
  <p>The share of a document's chunks of prose that end within a sentence. A share of few chunks counts less. A bar leads to these chunks.</p>
  <${List} caption="Documents by broken chunks" rows=${rows} columns=${[
    { name: "Document", wide: true, of: (row) => html`<${ToDocument} uri=${row.uri} />` },
    { name: "Share", of: (row) => html`<a class="barred" href=${toBroken(row)}><${Bar} share=${row.broken / row.checked} label=${percent(row.broken / row.checked)} /></a>` },
    { name: "Broken", right: true, of: (row) => html`<a href=${toBroken(row)}>${number(row.broken)}</a>` },
    { name: "Chunks of prose", right: true, of: (row) => row.checked },
  ]} />`;
const toBroken = (row) => link("chunks", { is: written([["chunk_id", "in", row.ids]]), title: `Chunks of ${row.uri} that end within a sentence` });

/** Return rows by the value of a column, the most frequent first. */
function grouped(rows, name) {
  const groups = new Map();
  for (const row of rows) groups.set(row[name], [...(groups.get(row[name]) ?? []), row]);
  return [...groups].sort((one, other) => other[1].length - one[1].length);
}

const Rejects = ({ rows }) => rows.length === 0 ? html`<${Good}>Nothing was rejected.<//>` : grouped(rows, "reason").map(([reason, own]) => html`
  <details open=${own.length <= MOST_OPEN}><summary><code>${reason}</code> ${plural(own.length, "file")}</summary>
    <${List} caption=${`Rejected: ${reason}`} rows=${own} columns=${[
      { name: "File", wide: true, of: (row) => html`<bdi>${row.uri}</bdi>` }, { name: "Why", wide: true, of: (row) => row.message },
      { name: "Last tried", of: (row) => time(row.last_seen) },
      { name: "Folder", of: (row) => html`<a href=${link("documents", { part: folder(row.uri), title: `Beside ${row.uri}` })}>${folder(row.uri) || "all documents"}</a>` },
    ]} /></details>`);
const folder = (uri) => uri.slice(0, uri.lastIndexOf("/") + 1);

const Warnings = ({ rows }) => rows.length === 0 ? html`<${Good}>Nothing: all text was read.<//>` : html`
  <p>Documents of which text is missing, or that were read in a simpler way than their format asks for.</p>
  <${List} caption="Warnings" rows=${rows} columns=${[
    { name: "Document", wide: true, of: (row) => html`<${ToDocument} uri=${row.uri} />` },
    { name: "What happened", wide: true, of: (row) => row.message }, { name: "Text missing in the store", of: (row) => (row.lost ? "yes" : "no") },
  ]} />`;

const Duplicates = ({ rows }) => rows.length === 0 ? html`<${Good}>Nothing: no two documents have a chunk of the same text, or nearly so.<//>` : html`
  <p>Two documents with chunks of the same text, or with vectors of a similarity above 0.95. A number leads to these chunks of both.</p>
  <${List} caption="Duplicates" rows=${rows} columns=${[
    { name: "This document", wide: true, of: (row) => html`<${ToDocument} uri=${row.uri} />` },
    { name: "Repeats this one", wide: true, of: (row) => html`<${ToDocument} uri=${row.other_uri} />` },
    { name: "Chunks", right: true, of: (row) => html`<a href=${toTwins(row)}>${number(row.repeated)} of ${number(row.chunks)}</a>` },
    { name: "Likeness", right: true, of: likeness },
  ]} />`;
const toTwins = (row) => link("chunks", { is: written([["chunk_id", "in", [...row.ids, ...row.other_ids]]]), by: TEXT, title: `Alike in ${row.uri} and ${row.other_uri}` });
const likeness = (row) => (row.same === row.repeated ? "same text" : row.same > 0 ? `${number(row.same)} the same, others ${row.least.toFixed(3)} or more` : `similarity ${row.least.toFixed(3)} or more`);

const Old = ({ rows }) => html`
  <p>A document is stale if its file cannot be used any more: the store keeps its last good version.</p>
  <${List} caption="Oldest documents" rows=${rows} columns=${[
    { name: "Document", wide: true, of: (row) => html`<${ToDocument} uri=${row.uri} />` },
    { name: "Changed", of: (row) => row.changed }, { name: "Days", right: true, of: (row) => row.age_days },
    { name: "State", of: (row) => row.status }, { name: "Contexts due", right: true, of: (row) => (row.contexts_due && !isReport ? html`<a href=${link("chunks", { is: due(row), title: `Chunks of ${row.uri} whose context is due` })}>${number(row.contexts_due)}</a>` : row.contexts_due) },
  ]} />`;
const due = (row) => written([["uri", "=", row.uri], ["context_state", "in", ["missing", "refused", "stale"]]]);

function Kinds({ rows }) {
  const all = rows.reduce((sum, row) => sum + row.chunks, 0) || 1;
  return html`<${List} caption="What the store holds" rows=${rows} columns=${[
    { name: "Type", term: "type", of: (row) => html`<${Type} of=${row.content_type} />` }, { name: "Format", of: (row) => row.format },
    { name: "Language", of: (row) => row.lang || "not stated" },
    { name: "Documents", right: true, of: (row) => html`<a href=${link("documents", { is: kind(row), title: `${row.format} of ${row.content_type}` })}>${number(row.documents)}</a>` },
    { name: "Chunks", of: (row) => html`<a class="barred" href=${link("chunks", { of: kind(row), title: `Chunks of ${row.format} of ${row.content_type}` })}><${Bar} share=${row.chunks / all} label=${number(row.chunks)} of=${colour(row.content_type)} /></a>` },
  ]} />`;
}
const kind = (row) => written([["content_type", "=", row.content_type], ["format", "=", row.format], ["lang", "=", row.lang]]);

const Costs = ({ rows }) => rows.length === 0 ? html`<${Good}>Nothing: no language model was called.<//>` : html`
  <p>A snapshot leads to what the run that cost most has changed.</p>
  <${List} caption="Costs" rows=${rows} columns=${[
    { name: "Purpose", of: (row) => row.purpose },
    { name: "Most went into", of: (row) => html`<a href=${toChange(row.dearest)}>snapshot ${row.dearest}</a>${row.money > 0 && `: ${row.most.toFixed(2)}`}` },
    { name: "Money", right: true, of: (row) => row.money.toFixed(2) }, { name: "Calls", right: true, of: (row) => row.calls },
    { name: "Failed", right: true, of: (row) => row.failed }, { name: "Tokens in", right: true, of: (row) => row.input },
    { name: "Tokens out", right: true, of: (row) => row.output }, { name: "Model", of: (row) => row.model },
  ]} />`;

// The questions, in an order for users who do not know the store.
const PICTURES = [
  { id: "lengths", title: "How long are the chunks?", draw: Lengths },
  { id: "truncated", title: "Does the model read each chunk to its end?", draw: Truncated },
  { id: "torn", title: "Which tables are split over several chunks?", draw: Torn },
  { id: "cut", title: "Which documents are split badly?", draw: Cut },
  { id: "rejects", title: "Which files were refused, and why?", draw: Rejects },
  { id: "warnings", title: "What was read badly?", draw: Warnings },
  { id: "duplicates", title: "What is duplicated?", heavy: true, draw: Duplicates },
  { id: "old", title: "Which documents are old or stale?", draw: Old },
  { id: "kinds", title: "What is in the store?", draw: Kinds },
  { id: "runs", title: "What did the last runs change?", draw: Runs },
  { id: "costs", title: "What did language models cost?", draw: Costs },
  { id: "evaluations", title: "Does it find what people ask?", draw: Evaluations },
];
