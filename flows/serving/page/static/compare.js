// Compare: two searches for one question, two splits of one document, or two snapshots.
import { html, useState } from "./vendor/preact-htm.js";
import { ask, path, useAnswer, useQuestion, useRows } from "./ask.js";
import { written } from "./conditions.js";
import { statementBetween } from "./questions.js";
import { isReport, rowsOf } from "./report.js";
import { Answer, Choice, Empty, Excerpt, Failure, List, Sql, Table, ToDocument, Type } from "./parts.js";
import { Splits } from "./splits.js";
import { go, lasting, link } from "./state.js";
import { MEANINGS } from "./terms.js";
import { number, plural, time, wordsOf } from "./words.js";

const WHAT = [["question", "One question, two ways"], ["settings", "One document, two ways"], ["snapshots", "Two snapshots"]];
const HITS = 10;
const SHORT = 300; // characters of a text: the two lists are for comparing the order, not for reading

export function Compare({ place, stores }) {
  if (isReport) return html`<h1>Compare</h1>
    <p class="told">A report compares the two newest snapshots. <code>docmill serve</code> compares rankings and older snapshots, too.</p>
    <${Snapshots} place=${place} />`;
  const what = place.what || "question";
  return html`
    <h1>Compare</h1>
    <${Choice} label="What to compare" value=${what} of=${WHAT} set=${(name) => go("compare", { what: name })} />
    <${({ question: Question, settings: Splits })[what] ?? Snapshots} place=${place} stores=${stores} />
  `;
}

// What may differ between the two sides: name in the address, label, and values.
const WAYS = [
  ["mode", "Ranking", [["", "as set"], ["hybrid", "hybrid"], ["keyword", "keyword"], ["vector", "vector"]]],
  ["weight", "Weight of vectors", [["", "as set"], ["0.1", "0.1"], ["0.3", "0.3"], ["0.5", "0.5"], ["0.7", "0.7"]]],
  ["cover", "Weight of the cover's words", [["", "as set"], ["0", "0"], ["0.5", "0.5"], ["1", "1"]]],
  ["spread", "Share of neighbouring chunks", [["", "as set"], ["0", "0"], ["0.2", "0.2"], ["0.4", "0.4"]]],
  ["lift", "Share of the whole document", [["", "as set"], ["0", "0"], ["0.3", "0.3"], ["0.6", "0.6"]]],
];

function Question({ place, stores }) {
  const [typed, type] = useState(place.q ?? "");
  const kept = useQuestion("snapshots");
  const snapshots = [["", "newest"], ...(kept.value ?? []).slice(1).map((one) => [String(one.snapshot), `${one.snapshot}, ${time(one.created)}`])];
  const { store } = lasting();
  const ofStores = ["store", "Store", [["", store || stores[0]], ...stores.filter((name) => name !== (store || stores[0])).map((name) => [name, name])]];
  // The snapshots of another store are not known here, so its newest one is used.
  const waysOf = (side) => [...WAYS, ...(stores.length > 1 ? [ofStores] : []), ...(place[`${side}_store`] ? [] : [["at", "Snapshot", snapshots]])];
  const set = (values) => go("compare", { ...place, view: "", ...values });
  const [left, right] = [useSide(place, "a"), useSide(place, "b")];
  return html`
    <form class="ask" role="search" onSubmit=${(event) => (event.preventDefault(), set({ q: typed }))}>
      <label for="q" class="unseen">Question</label>
      <input id="q" type="search" value=${typed} placeholder="A question for both sides" onInput=${(event) => type(event.target.value)} />
      <button>Ask both</button>
    </form>
    <div class="sides">
      ${[["a", "Left", left, right], ["b", "Right", right, left]].map(([side, title, own, other]) => html`<section aria-label=${title}>
        <div class="ways">${waysOf(side).map(([name, shown, values]) => html`<label title=${MEANINGS[name]}>${shown}
          <select value=${place[`${side}_${name}`] ?? ""} onChange=${(event) => set({ [`${side}_${name}`]: event.target.value })}>
            ${values.map(([value, words]) => html`<option value=${value}>${words}</option>`)}</select></label>`)}</div>
        ${place.q && html`<${Side} own=${own} other=${other} asked=${place.q} of=${sideOf(place, side)} />`}
      </section>`)}
    </div>
    ${!place.q && html`<${Empty} title="Ask both sides the same">Choose how each side ranks, or which snapshot it reads.
      ${stores.length > 1 ? " Two stores that split the same documents in two ways show which way answers better."
        : html` To ask one question of two strategies, <a href=${link("compare", { what: "settings" })}>split one document in two ways</a>, or
          make a store with each of them and serve both: <code>docmill serve one two</code>.`}<//>`}
  `;
}

/** Return the store and snapshot of a side if they differ from those of the address. */
const sideOf = (place, side) => Object.fromEntries(["store", "at"].map((name) => [name, place[`${side}_${name}`]]).filter(([, value]) => value));

function useSide(place, side) {
  const { store } = lasting();
  const chosen = Object.fromEntries(WAYS.map(([name]) => [name, place[`${side}_${name}`]]).filter(([, value]) => value));
  const given = { ...chosen, ...sideOf(place, side) };
  const numbers = Object.fromEntries(["weight", "cover", "spread", "lift"].filter((name) => given[name]).map((name) => [name, Number(given[name])]));
  const body = { query: place.q, k: HITS, ...(store && { store }), ...given, ...numbers };
  return useAnswer(place.q ? `side ${JSON.stringify(body)}` : null, (signal) => ask("search", body, signal));
}

const Side = ({ own, other, asked, of }) => html`<${Answer} of=${own} what="Searching">${(answer) => {
  const ranks = new Map((other.value?.hits ?? []).map((hit) => [hit.chunk_id, hit.rank]));
  return html`<ol class="hits">${answer.hits.map((hit) => html`<li class="hit" key=${hit.chunk_id}>
    <h3>${hit.rank}. <${ToDocument} uri=${hit.uri} chunk=${hit.chunk_id} of=${of} /> <${Type} of=${hit.content_type} />
      <span class="moved">${other.value && moved(hit.rank, ranks.get(hit.chunk_id))}</span></h3>
    <${Excerpt} of=${hit} terms=${wordsOf(hit, asked)} long=${SHORT} /></li>`)}</ol>`;
}}<//>`;

const moved = (rank, there) => there === undefined ? "only here" : there === rank ? "same place" : there > rank ? `▲ ${there - rank}` : `▼ ${rank - there}`;

function Snapshots({ place }) {
  const kept = useQuestion("snapshots");
  const rows = kept.value ?? [];
  const [old, fresh] = [place.old ?? rows[1]?.snapshot, place.new ?? rows[0]?.snapshot];
  const asked = rows.length > 1 && rows.some((one) => one.snapshot === Number(old));
  const found = useAnswer(asked ? `diff ${lasting().store} ${old} ${fresh}` : null, (signal) => ask(path(`diff/${old}/${fresh}`, { at: "", text: true }), undefined, signal));
  if (kept.error) return html`<${Failure} error=${kept.error} />`;
  if (kept.value && !asked) return html`<${Empty} title=${rows.length > 1 ? `Snapshot ${old} is not ${isReport ? "in this report" : "kept"}` : "There is one snapshot"}>
    ${rows.length > 1 ? html`<a href="#/compare?what=snapshots">Compare the two newest.</a>` : "The next run that changes something makes another, and both can be compared here."}<//>`;
  const pick = (name, value) => html`<select value=${value} onChange=${(event) => go("compare", { ...place, view: "", [name]: event.target.value })}>
    ${rows.map((one) => html`<option value=${one.snapshot}>${one.snapshot}, ${time(one.created)}</option>`)}</select>`;
  return html`
    <p class="ways"><label>From ${pick("old", old)}</label> <label>to ${pick("new", fresh)}</label></p>
    <${Answer} of=${found} what="Comparing">${(answer) => html`<${Difference} of=${answer} old=${old} fresh=${fresh} />`}<//>`;
}

/** The files that runs rejected between two snapshots. */
function Refusals({ old, fresh }) {
  const statement = statementBetween("refused", old, fresh);
  const found = useRows(statement, () => rowsOf("refused"));
  return html`<section><h2>Which files were refused meanwhile?</h2>
    <${Answer} of=${found} what="Looking for refused files">${(rows) => rows.length === 0 ? html`<p class="good">None.</p>` : html`
      <${List} caption="Refused files" rows=${rows} columns=${[
        { name: "File", wide: true, of: (row) => html`<bdi>${row.uri}</bdi>` }, { name: "Why", wide: true, of: (row) => row.message }, { name: "Reason", of: (row) => row.reason },
      ]} />`}<//>
    <p><a href=${link("health", { see: "rejects" })}>All refused files</a></p>
    <${Sql}>${statement}<//></section>`;
}

const SPAN = /^(.*)\[(\d+):(\d+)\]$/s; // of a chunk in a difference: its document, start and end

/** Return the address of a chunk that differs. A removed one is shown in the earlier snapshot. */
function toChunk(row, old) {
  const [, uri, start, end] = SPAN.exec(row.after ?? row.before);
  const is = written([["uri", "=", uri], ["start_char", "=", Number(start)], ["end_char", "=", Number(end)]]);
  return link("chunks", { is, title: row.after ? `A chunk of ${uri}` : `A chunk that left ${uri}`, ...(row.after ? {} : { at: old }) });
}

/** The name of a document that differs. A removed one links to the earlier snapshot, which a report does not contain. */
function Differing({ row, old }) {
  if (row.after) return html`<${ToDocument} uri=${row.after} />`;
  return isReport ? html`<bdi>${row.before}</bdi>` : html`<${ToDocument} uri=${row.before} of=${{ at: old }} />`;
}

const Difference = ({ of, old, fresh }) => of.difference.documents.length === 0 && of.difference.chunks.length === 0
  ? html`<div><${Empty} title="No difference">Both snapshots hold the same documents and chunks.<//><${Refusals} old=${old} fresh=${fresh} /></div>`
  : html`<div>
    <p class="told">${plural(of.counts.documents, "document")} and ${plural(of.counts.chunks, "chunk")} differ.
      ${of.left_out && ` ${number(of.left_out.changes)} are not shown.`}</p>
    <${Table} caption="Documents that differ" rows=${of.difference.documents} columns=${[
      { name: "Change", of: (row) => row.kind },
      { name: "Document", wide: true, of: (row) => html`<${Differing} row=${row} old=${old} />` },
      ...(of.difference.documents.some((row) => row.kind === "moved") ? [{ name: "Before", wide: true, of: (row) => (row.kind === "moved" ? row.before : "") }] : []),
      { name: "Look at", of: (row) => row.kind === "changed" && html`<a href=${link("document", { uri: row.after, since: old })}>changed lines</a>${!isReport && html` · <a href=${link("compare", { what: "settings", uri: row.after, a_how: `at:${old}`, b_how: `at:${fresh}` })}>chunks side by side</a>`}` },
    ]} />
    <${Refusals} old=${old} fresh=${fresh} />
    ${of.difference.chunks.length > 0 && html`<h2>Which chunks differ?</h2>`}
    <ol class="hits">${of.difference.chunks.map((row) => html`<li class="hit">
      <h3>${row.kind} <a href=${toChunk(row, old)}><bdi>${row.after ?? row.before}</bdi></a></h3>
      ${row.text.length > 0 && html`<article class="changes">${row.text.filter((line) => !/^(---|\+\+\+|@@)/.test(line)).map((line) => html`<div
        class=${line.startsWith("+") ? "new" : line.startsWith("-") ? "gone" : "same"}>${line.slice(1) || " "}</div>`)}</article>`}</li>`)}</ol></div>`;
