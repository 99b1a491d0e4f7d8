// Charts: the history of a store, with one column for each snapshot, the oldest at the left.
import { html } from "./vendor/preact-htm.js";
import { List } from "./parts.js";
import { link } from "./state.js";
import { number, plural, time } from "./words.js";

const toQuestions = (row, before) => link("questions", { evaluation: row.evaluation_id, before: before?.evaluation_id });
/** Return the address of what a run changed. For the first snapshot, all documents are new. */
export const toChange = (snapshot) => snapshot > 1 ? link("compare", { what: "snapshots", old: snapshot - 1, new: snapshot }) : link("documents", { order: "changed" });

/** What the runs did: added chunks above the line, removed ones below it. */
export function Runs({ rows }) {
  const most = Math.max(...rows.flatMap((row) => [row.chunks_added, row.chunks_removed]), 1);
  return html`
    <p>New chunks are above the line, removed ones below it. The scale ends at ${number(most)}. A column leads to what changed.</p>
    <ol class="columns" aria-label="Runs, the oldest first">${[...rows].reverse().map((row) => html`<li><a href=${toChange(row.snapshot)}
      aria-label=${`Snapshot ${row.snapshot}, ${time(row.started)}: ${plural(row.chunks_added, "chunk")} in, ${number(row.chunks_removed)} out`}
      title=${`Snapshot ${row.snapshot}, ${time(row.started)}`}>
      <span class="above">${row.chunks_added > 0 && html`<i style=${{ height: `${(100 * row.chunks_added) / most}%` }}></i>`}</span>
      <span class="below">${row.chunks_removed > 0 && html`<i style=${{ height: `${(100 * row.chunks_removed) / most}%` }}></i>`}</span>
      <span class="figure">${row.snapshot}</span></a></li>`)}</ol>
    <${List} caption="Runs" rows=${rows} columns=${[
      { name: "Snapshot", right: true, of: (row) => html`<a href=${toChange(row.snapshot)}>${row.snapshot}</a>` },
      { name: "Started", of: (row) => time(row.started) }, { name: "Seconds", right: true, of: (row) => row.seconds.toFixed(1) },
      { name: "New", right: true, of: (row) => row.added }, { name: "Changed", right: true, of: (row) => row.changed },
      { name: "Moved", right: true, of: (row) => row.moved }, { name: "Deleted", right: true, of: (row) => row.deleted },
      { name: "Rejected", right: true, of: (row) => row.rejected },
      { name: "Chunks in", right: true, of: (row) => row.chunks_added }, { name: "Chunks out", right: true, of: (row) => row.chunks_removed },
    ]} />`;
}

/** The results of evaluations: for each measure and file of questions, a column per snapshot with its interval. */
export function Evaluations({ rows }) {
  if (!rows.length) return html`<p>Nobody has measured this yet. Write questions whose answers you know into a table, and run${" "}
    <code>docmill evaluate --questions FILE</code>; or have questions made from the documents with <code>docmill evaluate --from links</code>.
    This page then shows the results.</p>`;
  const all = series(rows);
  const main = all.filter((own) => own[0].measure === all[0]?.[0].measure);
  const others = all.slice(main.length);
  return html`
    <p>A line is the value, the bar around it its 95 % interval, on a scale from 0 to 1. Values whose intervals overlap
      may differ by chance. A column leads to its questions: which were found, and what changed since the column before.</p>
    <div class="trends">${main.map((own) => html`<${Trend} rows=${own} />`)}</div>
    ${others.length > 0 && html`<details><summary>${plural(others.length / Math.max(1, main.length), "other measure")}</summary>
      <div class="trends">${others.map((own) => html`<${Trend} rows=${own} />`)}</div></details>`}
    <details><summary>Figures</summary><${List} caption="Evaluations" rows=${rows} columns=${[
      { name: "Questions", wide: true, of: (row) => html`<bdi>${row.subject}</bdi>` }, { name: "Measure", of: (row) => `${row.measure}${mode(row)}` },
      { name: "Snapshot", right: true, of: (row) => row.snapshot || row.candidate },
      { name: "Value", right: true, of: (row) => html`<a href=${toQuestions(row)}>${row.value.toFixed(3)}</a>` },
      { name: "95 % interval", right: true, of: (row) => `${row.low.toFixed(3)} to ${row.high.toFixed(3)}` },
      { name: "Questions", right: true, of: (row) => row.count }, { name: "Asked", of: (row) => time(row.created) },
    ]} /></details>`;
}

const FIRST = /^nDCG/; // the measure that counts the order of all right passages, and that the gate uses

/**
 * Return the rows of each measure, ranking and file of questions, in the order of the snapshots. Of a snapshot measured
 * twice, only the later row is returned.
 */
export function series(rows) {
  const found = new Map();
  for (const row of rows.filter((one) => one.snapshot > 0).sort((one, other) => one.created.localeCompare(other.created))) {
    const name = [FIRST.test(row.measure) ? 0 : 1, row.measure, row.subject, mode(row)].join("\u0000");
    found.set(name, (found.get(name) ?? new Map()).set(row.snapshot, row));
  }
  const sorted = [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, own]) => [...own.values()]);
  return sorted.map((own) => own.sort((one, other) => one.snapshot - other.snapshot));
}

/** Return the search mode of an evaluation, such as ", keyword". */
export function mode(row) {
  const own = (() => { try { return JSON.parse(row.settings); } catch { return {}; } })();
  return own.mode ? `, ${own.mode}` : "";
}

const Trend = ({ rows }) => html`
  <figure class="trend">
    <figcaption><b>${rows[0].measure}${mode(rows[0])}</b> <bdi>${rows[0].subject}</bdi></figcaption>
    <ol class="columns" aria-label=${`${rows[0].measure}${mode(rows[0])} of ${rows[0].subject}`}>${rows.map((row, place) => html`<li><a href=${toQuestions(row, rows[place - 1])}
      aria-label=${`The questions of snapshot ${row.snapshot}: ${row.value.toFixed(3)}, interval ${row.low.toFixed(3)} to ${row.high.toFixed(3)}`}>
      <span class="scale"><i class="reach" style=${{ bottom: `${100 * row.low}%`, height: `${100 * (row.high - row.low)}%` }}></i>
        <i class="mark" style=${{ bottom: `${100 * row.value}%` }}></i></span>
      <span class="figure">${row.value.toFixed(2)}</span><small class="figure">${row.snapshot}</small></a></li>`)}</ol>
  </figure>`;
