// Health: questions about a store, each with a picture, its SQL, and a way to the chunks or documents behind it.
import { html, useState } from "./vendor/preact-htm.js";
import { quoted, useRows } from "./ask.js";
import { Answer, Bar, Table, ToDocument, Type } from "./parts.js";
import { link } from "./state.js";
import { colour } from "./types.js";
import { number, percent, plural, time } from "./words.js";

const MANY = 20000; // chunks; over these, comparing all vectors takes seconds and waits to be asked
const SHOWN = 20; // rows of a list; the way to all of them stands below

// Prose of which a chunk should end with a sentence. Tables, code and the like end as their rows and lines do.
const PROSE = "('narrative', 'structured', 'technical', 'legal', 'email')";
const ENDS = "[.!?…:;。！？»”\"''’)\\]*_`|>]\\s*$";

export function Health({ status }) {
  const { chunks } = status;
  return html`
    <h1>Health</h1>
    <nav class="contents" aria-label="Questions"><ul>${PICTURES.map((one) => html`<li><a href=${`#${one.id}`}
      onClick=${(event) => (event.preventDefault(), document.getElementById(one.id).scrollIntoView({ behavior: "smooth" }))}>${one.title}</a></li>`)}</ul></nav>
    ${PICTURES.map((one) => html`<${Picture} key=${one.id} of=${one} waits=${one.heavy && chunks > MANY} />`)}
  `;
}

function Picture({ of, waits }) {
  const [asked, ask] = useState(!waits);
  const rows = useRows(asked ? of.sql : null);
  const Draw = of.draw;
  return html`
    <section class="picture" id=${of.id}>
      <h2>${of.title}</h2>
      ${asked ? html`<${Answer} of=${rows} what="Counting">${(found) => html`<${Draw} rows=${found} />`}<//>`
        : html`<p>This compares all vectors, which takes up to half a minute. <button type="button" onClick=${() => ask(true)}>Compare</button></p>`}
      <details class="sql"><summary>SQL</summary><pre>${of.sql}</pre></details>
    </section>
  `;
}

const Good = ({ children }) => html`<p class="good">${children}</p>`;

function Lengths({ rows }) {
  if (!rows.length) return html`<${Good}>There are no chunks yet.<//>`;
  const most = Math.max(...rows.map((row) => row.most), 1);
  const at = (tokens) => `${(100 * tokens) / most}%`;
  return html`
    <p>The box holds the middle half of the chunks, the line in it the median, the whisker 95 %. The scale ends at ${number(most)} tokens.</p>
    <div class="scrolled" tabindex="0" role="region" aria-label="Lengths by type and strategy"><table class="boxes">
      <thead><tr><th scope="col">Type</th><th scope="col">Strategy</th><th scope="col" class="right">Chunks</th>
        <th scope="col" class="plot">Tokens</th><th scope="col" class="right">Median</th><th scope="col" class="right">Longest</th></tr></thead>
      <tbody>${rows.map((row) => html`<tr>
        <td><${Type} of=${row.content_type} /></td><td>${row.strategy}</td>
        <td class="right"><a href=${link("chunks", { where: of(row), title: `Chunks of ${row.content_type} by ${row.strategy}` })}>${number(row.chunks)}</a></td>
        <td class="plot"><div class="box" style=${{ "--colour": colour(row.content_type) }} aria-hidden="true">
          <i class="whisker" style=${{ left: at(row.least), width: at(row.p95 - row.least) }}></i>
          <i class="middle" style=${{ left: at(row.lower_quarter), width: at(row.upper_quarter - row.lower_quarter) }}></i>
          <i class="median" style=${{ left: at(row.median) }}></i></div></td>
        <td class="right">${number(Math.round(row.median))}</td>
        <td class="right"><a href=${link("chunks", { where: of(row), order: "tokens DESC", title: `Longest chunks of ${row.content_type} by ${row.strategy}` })}>${number(row.most)}</a></td>
      </tr>`)}</tbody></table></div>
  `;
}
const of = (row) => `content_type = ${quoted(row.content_type)} AND strategy = ${quoted(row.strategy)}`;

const inside = (row) => `uri = ${quoted(row.uri)} AND start_char >= ${row.start_char} AND end_char <= ${row.end_char} AND len(children) = 0`;
const Torn = ({ rows }) => rows.length === 0 ? html`<${Good}>None: every table stands in one chunk.<//>` : html`
  <p>${plural(rows.length, "table")}. Each piece of a long table repeats its header in the context.</p>
  <${List} caption="Torn tables" rows=${rows} columns=${[
    { name: "Document", wide: true, of: (row) => html`<${ToDocument} uri=${row.uri} />` },
    { name: "Pieces", right: true, of: (row) => html`<a href=${link("chunks", { where: inside(row), title: `A table of ${row.uri}` })}>${number(row.pieces)}</a>` },
  ]} />`;

const broken = (row) => `uri = ${quoted(row.uri)} AND content_type IN ${PROSE} AND len(children) = 0 AND NOT regexp_matches(text, '${ENDS}')`;
const Cut = ({ rows }) => rows.length === 0 ? html`<${Good}>None: every chunk of prose ends where a sentence ends.<//>` : html`
  <p>Share of the chunks of prose that do not end where a sentence ends.</p>
  <${List} caption="Documents by broken chunks" rows=${rows} columns=${[
    { name: "Document", wide: true, of: (row) => html`<${ToDocument} uri=${row.uri} />` },
    { name: "Share", of: (row) => html`<${Bar} share=${row.broken / row.checked} label=${percent(row.broken / row.checked)} />` },
    { name: "Broken", right: true, of: (row) => html`<a href=${link("chunks", { where: broken(row), title: `Chunks of ${row.uri} that end within a sentence` })}>${number(row.broken)}</a>` },
  ]} />`;

/** Return rows by the value of a column, most first. */
function grouped(rows, name) {
  const groups = new Map();
  for (const row of rows) groups.set(row[name], [...(groups.get(row[name]) ?? []), row]);
  return [...groups].sort((one, other) => other[1].length - one[1].length);
}

const Rejects = ({ rows }) => rows.length === 0 ? html`<${Good}>Nothing was rejected.<//>` : grouped(rows, "reason").map(([reason, own]) => html`
  <details open=${own.length <= SHOWN}><summary><code>${reason}</code> ${plural(own.length, "file")}</summary>
    <${List} caption=${`Rejected: ${reason}`} rows=${own} columns=${[
      { name: "File", wide: true, of: (row) => html`<bdi>${row.uri}</bdi>` }, { name: "Why", wide: true, of: (row) => row.message },
      { name: "Last tried", of: (row) => time(row.last_seen) },
    ]} /></details>`);

const Warnings = ({ rows }) => rows.length === 0 ? html`<${Good}>Nothing: all text was read.<//>` : html`
  <${List} caption="Warnings" rows=${rows} columns=${[
    { name: "Document", wide: true, of: (row) => html`<${ToDocument} uri=${row.uri} />` },
    { name: "What happened", wide: true, of: (row) => row.message }, { name: "Text lost", of: (row) => (row.lost ? "yes" : "no") },
  ]} />`;

const Duplicates = ({ rows }) => rows.length === 0 ? html`<${Good}>Nothing.<//>` : html`
  <${List} caption="Duplicates" rows=${rows} columns=${[
    { name: "Chunk", wide: true, of: (row) => html`<${ToDocument} uri=${row.uri} chunk=${row.chunk_id} />` },
    { name: "repeats", wide: true, of: (row) => html`<${ToDocument} uri=${row.other_uri} chunk=${row.other_id} />` },
    { name: "Similarity", right: true, of: (row) => (row.kind === "same" ? "same text" : row.similarity.toFixed(3)) },
  ]} />`;

const Old = ({ rows }) => html`
  <${List} caption="Oldest documents" rows=${rows} columns=${[
    { name: "Document", wide: true, of: (row) => html`<${ToDocument} uri=${row.uri} />` },
    { name: "Changed", of: (row) => row.changed }, { name: "Days", right: true, of: (row) => row.age_days },
    { name: "State", of: (row) => row.status }, { name: "Contexts due", right: true, of: (row) => row.contexts_due },
  ]} />`;

function Kinds({ rows }) {
  const all = rows.reduce((sum, row) => sum + row.chunks, 0) || 1;
  return html`<${List} caption="What the store holds" rows=${rows} columns=${[
    { name: "Type", of: (row) => html`<${Type} of=${row.content_type} />` }, { name: "Format", of: (row) => row.format },
    { name: "Language", of: (row) => row.lang || "not stated" },
    { name: "Documents", right: true, of: (row) => html`<a href=${link("documents", { where: kind(row), title: `${row.format} of ${row.content_type}` })}>${number(row.documents)}</a>` },
    { name: "Chunks", of: (row) => html`<${Bar} share=${row.chunks / all} label=${number(row.chunks)} of=${colour(row.content_type)} />` },
  ]} />`;
}
const kind = (row) => `content_type = ${quoted(row.content_type)} AND format = ${quoted(row.format)} AND lang = ${quoted(row.lang)}`;

function Runs({ rows }) {
  const most = Math.max(...rows.map((row) => row.chunks_added + row.chunks_removed), 1);
  return html`<${List} caption="Runs" rows=${rows} columns=${[
    { name: "Snapshot", right: true, of: (row) => html`<a href=${link("compare", { what: "snapshots", old: row.snapshot - 1, new: row.snapshot })}>${row.snapshot}</a>` },
    { name: "Started", of: (row) => time(row.started) }, { name: "Seconds", right: true, of: (row) => row.seconds.toFixed(1) },
    { name: "New", right: true, of: (row) => row.added }, { name: "Changed", right: true, of: (row) => row.changed },
    { name: "Moved", right: true, of: (row) => row.moved }, { name: "Left", right: true, of: (row) => row.deleted },
    { name: "Rejected", right: true, of: (row) => row.rejected },
    { name: "Chunks in and out", of: (row) => html`<${Bar} share=${(row.chunks_added + row.chunks_removed) / most} label=${`+${number(row.chunks_added)} −${number(row.chunks_removed)}`} />` },
  ]} />`;
}

const Costs = ({ rows }) => rows.length === 0 ? html`<${Good}>Nothing: no language model was called.<//>` : html`
  <${List} caption="Costs" rows=${rows} columns=${[
    { name: "Model", of: (row) => row.model }, { name: "Purpose", of: (row) => row.purpose }, { name: "Calls", right: true, of: (row) => row.calls },
    { name: "Failed", right: true, of: (row) => row.failed }, { name: "Tokens in", right: true, of: (row) => row.input },
    { name: "Tokens out", right: true, of: (row) => row.output }, { name: "Money", right: true, of: (row) => row.money.toFixed(2) },
  ]} />`;

const Evaluations = ({ rows }) => rows.length === 0
  ? html`<p>Nobody has asked yet. <code>docmill evaluate questions.jsonl</code> measures it, and each measure stands here from then on.</p>`
  : html`<${List} caption="Evaluations" rows=${rows} columns=${[
    { name: "Questions", wide: true, of: (row) => row.subject }, { name: "Measure", of: (row) => row.measure },
    { name: "Snapshot", right: true, of: (row) => row.snapshot }, { name: "Value", of: (row) => html`<${Interval} of=${row} />` },
    { name: "Questions", right: true, of: (row) => row.count },
  ]} />`;

const Interval = ({ of: row }) => html`<span class="interval" title=${`95 % interval ${row.low.toFixed(3)} to ${row.high.toFixed(3)}`}>
  <span class="track"><i class="range" style=${{ left: `${100 * row.low}%`, width: `${100 * (row.high - row.low)}%` }}></i><i class="point" style=${{ left: `${100 * row.value}%` }}></i></span>
  <span class="figure">${row.value.toFixed(3)}</span></span>`;

/** A table of the first rows, and the rest on demand. */
function List({ rows, ...of }) {
  const [all, show] = useState(false);
  return html`<${Table} ...${of} rows=${all ? rows : rows.slice(0, SHOWN)} />
    ${rows.length > SHOWN && !all && html`<p><button type="button" onClick=${() => show(true)}>Show all ${number(rows.length)}</button></p>`}`;
}

// The questions, in the order in which somebody asks them who does not know the store.
const PICTURES = [
  {
    id: "lengths", title: "How long are the chunks?",
    sql: "SELECT content_type, strategy, sum(chunks)::BIGINT AS chunks, min(least) AS least, min(lower_quarter) AS lower_quarter, median(median) AS median, max(upper_quarter) AS upper_quarter, max(p95) AS p95, max(most) AS most FROM lengths GROUP BY ALL ORDER BY chunks DESC",
    draw: Lengths,
  },
  {
    id: "torn", title: "Which tables are torn?",
    sql: "SELECT r.uri, r.start_char, r.end_char, count(*) AS pieces FROM routing AS r JOIN chunks AS c ON c.uri = r.uri AND c.start_char >= r.start_char AND c.end_char <= r.end_char WHERE r.content_type = 'table' AND len(c.children) = 0 GROUP BY ALL HAVING count(*) > 1 ORDER BY pieces DESC, r.uri LIMIT 200",
    draw: Torn,
  },
  {
    id: "cut", title: "Which documents are cut worst?",
    sql: `SELECT uri, count(*) AS checked, count(*) FILTER (NOT regexp_matches(text, '${ENDS}')) AS broken FROM chunks WHERE content_type IN ${PROSE} AND len(children) = 0 GROUP BY uri HAVING broken > 0 ORDER BY broken / checked DESC, broken DESC, uri LIMIT 200`,
    draw: Cut,
  },
  {
    id: "rejects", title: "What could not be read?",
    sql: "SELECT reason, uri, message, last_seen FROM rejects ORDER BY reason, uri LIMIT 1000",
    draw: Rejects,
  },
  {
    id: "warnings", title: "What was read badly?",
    sql: "SELECT kind, uri, message, lost FROM warnings ORDER BY lost DESC, kind, uri LIMIT 1000",
    draw: Warnings,
  },
  {
    id: "duplicates", title: "What stands twice?", heavy: true,
    sql: "SELECT chunk_id, uri, other_id, other_uri, kind, similarity FROM duplicates ORDER BY similarity DESC, uri LIMIT 200",
    draw: Duplicates,
  },
  {
    id: "old", title: "Which documents are old or stale?",
    sql: "SELECT uri, status, changed::DATE::VARCHAR AS changed, age_days, contexts_due FROM freshness ORDER BY status = 'ok', age_days DESC, uri LIMIT 200",
    draw: Old,
  },
  {
    id: "kinds", title: "What is in the store?",
    sql: "SELECT content_type, format, lang, count(*) AS documents, sum(chunks)::BIGINT AS chunks FROM documents GROUP BY ALL ORDER BY chunks DESC LIMIT 200",
    draw: Kinds,
  },
  {
    id: "runs", title: "What did the last runs change?",
    sql: "SELECT snapshot, started, seconds, added, changed, moved, deleted, rejected, stale, chunks_added, chunks_kept, chunks_removed FROM runs ORDER BY snapshot DESC LIMIT 30",
    draw: Runs,
  },
  {
    id: "costs", title: "What did language models cost?",
    sql: "SELECT model, purpose, sum(calls)::BIGINT AS calls, sum(failed)::BIGINT AS failed, sum(input)::BIGINT AS input, sum(output)::BIGINT AS output, sum(money) AS money FROM costs GROUP BY ALL ORDER BY money DESC, calls DESC",
    draw: Costs,
  },
  {
    id: "evaluations", title: "Does it find what people ask?",
    sql: "SELECT subject, measure, snapshot, value, low, high, count, created FROM evaluations WHERE kind = 'questions' ORDER BY subject, measure, created LIMIT 500",
    draw: Evaluations,
  },
];
