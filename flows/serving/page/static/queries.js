// Queries: what people ask, which queries have no answer, and how answers changed between two snapshots.
import { html, useState } from "./vendor/preact-htm.js";
import { ask, path, useAnswer } from "./ask.js";
import { Answer, Empty, List, ToDocument } from "./parts.js";
import { lasting, link } from "./state.js";
import { number, percent, plural, time } from "./words.js";

const NAMED = 3; // documents named in a cell; more would make its row taller than the others
const DOUBTFUL = 0.2; // a query whose best hit has a lower confidence counts as not answered

const use = (name, of) => {
  const { store, at } = lasting();
  return useAnswer(of && `${name} ${store} ${at} ${of}`, (signal) => ask(path(of === true ? name : of), undefined, signal));
};
const Query = ({ of }) => html`<a href=${link("search", { q: of })}><bdi>${of}</bdi></a>`;
const sure = (value) => (value == null ? "no hit" : html`<span class=${value < DOUBTFUL ? "low" : ""}>${value.toFixed(2)}</span>`);

export function Queries({ status }) {
  const asked = use("queries", true);
  return html`<h1>What do people ask?</h1>
    <${Answer} of=${asked} what="Reading the log of queries">${({ queries, logging, left_out: left }) => queries.length === 0
      ? html`<${Empty} title="No query is logged">${logging ? "Search, then come back: a query is logged some seconds after it was asked." : html`Set <code>queries.log = true</code> in docmill.toml and start the server again.`}<//>`
      : html`<p class="told">${plural(queries.length + (left?.queries ?? 0), "query", "queries")}, asked ${number(queries.reduce((sum, one) => sum + one.times, 0))} times.
          ${!logging && html` This server logs none; these are from before.`} The log does not know who asked.</p>
        <${List} caption="The most frequent queries" rows=${queries} columns=${[
          { name: "Times", of: (one) => one.times, right: true },
          { name: "Query", of: (one) => html`<${Query} of=${one.query} />`, wide: true },
          { name: "Last", of: (one) => time(one.last) },
          { name: "Hits", of: (one) => one.hits, right: true },
          { name: "Confidence", term: "confidence", of: (one) => sure(one.confidence), right: true },
        ]} />
        <${Gaps} />
        <${Moved} newest=${status.snapshot} />`}<//>`;
}

/** The queries without a good answer. All queries are searched again to find them. */
function Gaps() {
  const [wanted, want] = useState(false);
  const found = use("gaps", wanted);
  return html`<h2>What do the documents not answer?</h2>
    ${!wanted ? html`<p class="told">Asks the queries of little confidence again, and groups the ones that still have no good hit. <button type="button" onClick=${() => want(true)}>Ask again</button></p>`
      : html`<${Answer} of=${found} what="Asking again">${({ gaps }) => gaps.length === 0
        ? html`<p>Every query has a hit that is likely to answer it.</p>`
        : html`<ol class="hits">${gaps.map((gap) => html`<li class="hit"><h3>${gap.words.join(" · ") || "other"}
            <span class="told">asked ${plural(gap.times, "time")}</span></h3>
            <ul class="plain">${gap.queries.map((one) => html`<li><${Query} of=${one.query} /> <span class="told">${number(one.times)} ×, best hit ${one.confidence == null ? "none" : one.confidence.toFixed(2)}</span></li>`)}</ul></li>`)}</ol>`}<//>`}`;
}

/** Changes in the answers to the most frequent queries between two snapshots. */
function Moved({ newest }) {
  const kept = useAnswer(`snapshots ${lasting().store}`, (signal) => ask(path("snapshots"), undefined, signal));
  const [old, choose] = useState("");
  const found = use("replay", old && `replay/${old}/${newest}`);
  const earlier = (kept.value?.snapshots ?? []).filter((one) => one.snapshot !== newest).toReversed();
  if (earlier.length === 0) return null;
  return html`<h2>What moved between snapshots?</h2>
    <p><label>The 100 most frequent queries in snapshot ${newest} and in
      <select value=${old} onChange=${(event) => choose(event.target.value)}>
        <option value="">choose …</option>
        ${earlier.map((one) => html`<option value=${one.snapshot}>${one.snapshot}, ${time(one.created)}</option>`)}
      </select></label></p>
    ${old && html`<${Answer} of=${found} what="Asking both">${({ queries }) => html`<${Moves} of=${queries} />`}<//>`}`;
}

function Moves({ of }) {
  const moved = of.filter((one) => !one.same);
  if (moved.length === 0) return html`<p>Nothing moved in ${plural(of.length, "query", "queries")}.</p>`;
  return html`<p class="told">${number(moved.length)} of ${plural(of.length, "query", "queries")} moved.</p>
    <${List} caption="Queries whose hits moved" rows=${moved} columns=${[
      { name: "Times", of: (one) => one.times, right: true },
      { name: "Query", of: (one) => html`<${Query} of=${one.query} />`, wide: true },
      { name: "Documents kept", of: (one) => percent(one.kept), right: true },
      { name: "Confidence", term: "confidence", of: (one) => one.confidence.map((value) => (value == null ? "–" : value.toFixed(2))).join(" → ") },
      { name: "Entered", of: (one) => html`<${Uris} of=${one.entered} />`, wide: true },
      { name: "Left", of: (one) => one.left.slice(0, NAMED).join(", "), wide: true },
    ]} />`;
}

const Uris = ({ of }) => of.slice(0, NAMED).map((uri) => html`<${ToDocument} uri=${uri} /> `);
