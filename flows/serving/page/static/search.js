// Search: hits while the user types, explanations, and facets that filter them.
import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { aheadOf } from "./ahead.js";
import { ask, path, useAnswer } from "./ask.js";
import { asSql } from "./conditions.js";
import { conditions, Facets } from "./facets.js";
import { Bar, Choice, Empty, Excerpt, Failure, ToDocument, Type } from "./parts.js";
import { Judge, JudgeAll, useJudging } from "./judge.js";
import { isReport } from "./report.js";
import { go, lasting, link, parse } from "./state.js";
import { Term } from "./terms.js";
import { number, percent, plural, save, wordsOf } from "./words.js";

const MODES = [["hybrid", "Hybrid"], ["keyword", "Keyword"], ["vector", "Vector"], ["beside", "Side by side", "The three rankings beside each other."]];
const QUICK_MS = 60; // a keyword search takes a few milliseconds, so it can follow each key
const PAUSE_MS = 350; // a pause in typing; embedding a query takes longer than a key press
const HITS = [10, 30, 100]; // shown at first, and after each press on "More"

export function Search({ place, status }) {
  const mode = isReport ? "keyword" : place.mode || "hybrid";
  const [typed, type] = useState(place.q ?? "");
  const box = useRef();
  useEffect(() => type(place.q ?? ""), [place.q]);
  useEffect(() => slash(box), []);
  useEffect(() => {
    if (typed === (place.q ?? "")) return undefined;
    const timer = setTimeout(() => go("search", { ...place, view: "", q: typed }, true), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const set = (values) => go("search", { ...place, view: "", ...values });
  const where = conditions(place);
  return html`
    <h1 class="unseen">Search</h1>
    <form class="ask" role="search" onSubmit=${(event) => (event.preventDefault(), set({ q: typed }))}>
      <label for="q" class="unseen">Question</label>
      <input id="q" ref=${box} type="search" value=${typed} placeholder="Ask in words, or name an identifier"
        autocomplete="off" onInput=${(event) => type(event.target.value)} />
      ${!isReport && html`<${Choice} label="Ranking" value=${mode} of=${MODES} set=${(name) => set({ mode: name })} />`}
    </form>
    ${isReport && html`<p class="told">A report searches the words of ${plural(status.held, "document")}${status.held < status.documents && ` of ${number(status.documents)}`}.${" "}
      <code>docmill search</code> and <code>docmill serve</code> rank by vectors, too.</p>`}
    <div class="search">
      <${Facets} place=${place} mode=${mode} set=${set} />
      <div class=${mode === "beside" ? "besides" : "results"}>
        ${!typed.trim() && html`<${Start} />`}
        ${typed.trim() && mode !== "beside" && html`<${Results} typed=${typed} asked=${place.q ?? ""} mode=${mode} where=${where} place=${place} set=${set} />`}
        ${typed.trim() && mode === "beside" && MODES.slice(0, 3).map(([one, shown]) => html`<section aria-label=${shown}>
          <h2>${shown}</h2><${Results} typed=${typed} asked=${place.q ?? ""} mode=${one} where=${where} />
        </section>`)}
      </div>
    </div>
  `;
}

// Questions that are not searches, with the view that answers each.
const OTHERS = [
  ["What did the last run change?", "compare", { what: "snapshots" }],
  ["Which files were refused, and why?", "health", { see: "rejects" }],
  ["What was read badly?", "health", { see: "warnings" }],
  ["Which tables are split over several chunks?", "health", { see: "torn" }],
  ["What is duplicated?", "health", { see: "duplicates" }],
  ["Does it find what people ask?", "health", { see: "evaluations" }],
  ["Which subjects are there?", "map", {}],
  ...(isReport ? [] : [["What do people ask, and what has no answer?", "asked", {}]]),
];

const Start = () => html`<${Empty} title="What are you looking for?">
  Results come as you type.${!isReport && " Keywords answer at once; vectors join when you pause."} Press <kbd>/</kbd> to return to the box.
  Each result says why it came.
<//>
<h2>What became of your documents?</h2>
<ul class="questions">${OTHERS.map(([question, view, values]) => html`<li><a href=${link(view, values)}>${question}</a></li>`)}</ul>`;

/** Let "/" focus the search box, as on most sites with a search. */
function slash(box) {
  const pressed = (event) => {
    if (event.key !== "/" || /^(input|textarea|select)$/i.test(event.target.tagName)) return;
    event.preventDefault();
    box.current.select();
  };
  addEventListener("keydown", pressed);
  return () => removeEventListener("keydown", pressed);
}

/** The hits: by keyword while the user types, by the chosen mode after a pause. */
function Results({ typed, asked, mode, where, place = {}, set }) {
  const count = HITS.includes(Number(place.k)) ? Number(place.k) : HITS[0];
  const quick = useDelayed(typed.trim(), QUICK_MS);
  const first = useHits(quick, "keyword", where, count, true);
  const full = useHits(asked.trim() && asked === typed ? asked.trim() : null, mode, where, count);
  const [over, setOver] = useState(false);
  useEffect(() => setOver(false), [typed]); // a pointer that has not moved since the last question does not point at these hits
  const ready = asked === typed && full.value && full.key?.includes(JSON.stringify(asked.trim()));
  const held = useHeld(ready ? full : null, over);
  const shown = ready && !held.waits ? full : first;
  const ignored = useIgnored(asked.trim());
  const judging = useJudging(isReport || asked !== typed ? "" : asked.trim());
  const error = (asked === typed && full.error) || shown.error;
  if (error) return STOPPED.test(error.message) ? html`<${Stopped} mode=${mode} asked=${asked === typed} />` : html`<${Failure} error=${error} />`;
  if (!shown.value) return html`<p class="busy" role="status">Searching…</p>`;
  const hits = shown.value.hits;
  const sure = hits.flatMap((hit) => hit.confidence ?? []);
  const one = (hit, at) => html`<${Found} key=${hit.chunk_id} hit=${hit} other=${hits[at + 1] ?? hits[at - 1]} most=${strongest(hits)} asked=${typed} ignored=${ignored} judging=${judging} snapshot=${shown.value.snapshot} />`;
  return html`
    <${Back} ready=${shown} />
    <${JudgeAll} judging=${judging} snapshot=${shown.value.snapshot} />
    <p class="told" role="status">
      ${hits.length ? `${hits.length} best` : "Nothing found"} in snapshot ${shown.value.snapshot}${shown === first && mode !== "keyword" ? ", by keyword so far" : ""}${ready && sure.length > 0 && html`, <${Term} of="confidence">confidence ${Math.max(...sure).toFixed(2)}<//>`}
      ${held.waits && html` <button type="button" onClick=${held.take}>Show the better order</button>`}
    </p>
    <ol class="hits" onPointerMove=${() => setOver(true)} onPointerLeave=${() => setOver(false)}>
      ${place.by === "document" ? byDocument(hits).map((own) => html`<${OfDocument} key=${own[0].chunk_id} of=${own} one=${one} hits=${hits} />`) : hits.map(one)}
    </ol>
    ${set && hits.length > 0 && html`<${Below} hits=${hits} count=${count} place=${place} set=${set} asked=${asked} snapshot=${shown.value.snapshot} />`}
    ${!hits.length && html`<${Empty} title="Nothing matches">
      Try fewer words, or other ones${where.length ? ", or take back a facet" : ""}.${!isReport && " The vector ranking finds texts that share no word with the question."}
    <//>`}
  `;
}

/** Return hits grouped by document, in the order of each one's best hit. */
function byDocument(hits) {
  const groups = new Map();
  hits.forEach((hit) => groups.set(hit.uri, [...(groups.get(hit.uri) ?? []), hit]));
  return [...groups.values()];
}

/** The hits of one document: the best one, with the others folded. */
const OfDocument = ({ of: [best, ...others], one, hits }) => html`${one(best, hits.indexOf(best))}
  ${others.length > 0 && html`<li class="others"><details><summary>${plural(others.length, "more hit")} in <bdi>${best.uri}</bdi></summary>
    <ol class="hits">${others.map((hit) => one(hit, hits.indexOf(hit)))}</ol></details></li>`}`;

/** Buttons for a list of hits: show more, group by document, or download. */
function Below({ hits, count, place, set, asked, snapshot }) {
  const more = HITS.find((each) => each > count);
  const grouped = place.by === "document";
  return html`<p class="below">
    ${more && hits.length >= count && html`<button type="button" onClick=${() => set({ k: more })}>More hits</button>`}
    <button type="button" aria-pressed=${grouped} onClick=${() => set({ by: grouped ? undefined : "document" })}>By document</button>
    <button type="button" onClick=${() => save("hits.json", "application/json", JSON.stringify({ query: asked, snapshot, hits }, null, 1))}>Save as JSON</button>
    <button type="button" onClick=${() => save("hits.csv", "text/csv", asCsv(hits))}>Save as CSV</button>
  </p>`;
}

const SAVED = ["rank", "uri", "page", "line", "start_char", "end_char", "score", "relevance", "confidence", "vector_score", "keyword_score", "content_type", "chunk_id", "source_url", "text"];
// A cell that begins like a formula gets a quote before it. Otherwise a spreadsheet would run text from a document.
const cell = (value) => `"${String(value ?? "").replace(/^[=+\-@\t\r]/, (sign) => (typeof value === "number" ? sign : `'${sign}`)).replaceAll('"', '""')}"`;
const asCsv = (hits) => `${[SAVED, ...hits.map((hit) => SAVED.map((name) => hit[name]))].map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;

/** After going back from a document, show the hit that led there. */
function Back({ ready }) {
  useEffect(() => {
    const chunk = history.state?.hit;
    const element = chunk && document.getElementById(`hit-${chunk}`);
    if (!element) return;
    history.replaceState(null, "");
    element.closest("details")?.setAttribute("open", "");
    element.scrollIntoView({ block: "center" });
    element.querySelector("a")?.focus({ preventScroll: true });
  }, [ready]);
  return null;
}
const leave = (hit) => history.replaceState({ hit: hit.chunk_id }, "");

/** Return a value once it has not changed for some time. */
function useDelayed(value, pause) {
  const [late, set] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => set(value), pause);
    return () => clearTimeout(timer);
  }, [value]);
  return late;
}

/** Delay an answer while the pointer is over the list, so that nothing moves under it. */
function useHeld(answer, over) {
  const [taken, take] = useState(null);
  const key = answer?.key ?? null;
  useEffect(() => {
    if (key && !over) take(key);
  }, [key, over]);
  return { waits: key !== null && taken !== key && over, take: () => take(key) };
}

/** Use the hits of a text. While the user is still `typing`, the server does not log it as a query. */
function useHits(text, mode, where, k, typing = false) {
  const { store, at } = lasting();
  const body = { query: text, k, mode, ...(typing && !isReport && { typing }), ...narrowed(where), ...(store && { store }), ...(at && { at }) };
  return useAnswer(text ? `hits ${JSON.stringify(text)} ${JSON.stringify(body)}` : null, (signal) => ask("search", body, signal));
}

/** Return the highest BM25 score of a list, which keyword bars are relative to. */
const strongest = (hits) => Math.max(...hits.map((hit) => hit.keyword_score ?? 0), 1e-9);

function Found({ hit, other, most, asked, ignored, judging, snapshot }) {
  const terms = wordsOf(hit, asked);
  return html`
    <li class="hit" id=${`hit-${hit.chunk_id}`}>
      <h3><span onClickCapture=${() => leave(hit)}><${ToDocument} uri=${hit.uri} chunk=${hit.chunk_id} of=${{ q: asked }} /></span>
        ${hit.page != null && html`<span class="page">page ${hit.page}</span>`}<${Type} of=${hit.content_type} /></h3>
      ${hit.headings.length > 0 && html`<p class="headings" dir="auto">${hit.headings.join(" › ")}</p>`}
      <${Excerpt} of=${hit} terms=${terms} />
      <div class="scores">
        ${!isReport && html`<span><${Term} of="vector" /> <${Bar} share=${hit.vector_score ?? 0} label=${hit.vector_score == null ? "–" : hit.vector_score.toFixed(2)} /></span>`}
        <span><${Term} of="keyword" /> <${Bar} share=${(hit.keyword_score ?? 0) / most} label=${hit.keyword_score == null ? "–" : hit.keyword_score.toFixed(1)} of="var(--accent-2)" /></span>
      </div>
      <${Judge} hit=${hit} judging=${judging} snapshot=${snapshot} />
      <${Why} hit=${hit} other=${other} ignored=${ignored} />
    </li>
  `;
}

const STOPPED = /is a stop word/; // in the server's message for a question with only ignored words

/** The message in place of hits if all words of a question are ignored by the keyword search. */
const Stopped = ({ mode, asked }) => html`<${Empty} title="Only small words so far">
  Words such as “how” and “the” are almost everywhere, so the keywords ignore them. ${mode === "keyword" && asked
    ? html`Add a more specific word, or let <a href=${link("search", { ...parse(location.hash), view: "", mode: "hybrid" })}>the vectors answer</a>.`
    : "Type on: one more specific word is enough."}<//>`;

/** Use the words of a question that the keyword search ignores. */
function useIgnored(question) {
  const { store, at } = lasting();
  const found = useAnswer(isReport || !question ? null : `ignored ${store} ${at} ${question}`, (signal) => ask(path("ignored", { q: question }), undefined, signal));
  return found.value?.ignored ?? [];
}

/** Why a hit was found: its lead over the next one, its context, matched words and fields, and each step's effect. */
const Why = ({ hit, other, ignored }) => html`
  <details>
    <summary>Why this hit</summary>
    ${other && html`<p>${aheadOf(hit, other)}</p>`}
    ${hit.context && html`<h4>Context, embedded and indexed before the text</h4><p class="context" dir="auto">${hit.context}</p>`}
    ${Object.keys(hit.terms).length > 0 && html`<h4>Words, as the index cuts them</h4><ul class="plain">
      ${Object.entries(hit.terms).map(([term, share]) => html`<li>
        <code>${term}</code> ${share.toFixed(1)} of the keyword score, in ${(hit.fields[term] ?? []).join(", ")}</li>`)}
    </ul>`}
    ${ignored.length > 0 && html`<p>The keywords ignore ${ignored.map((word, place) => html`${place > 0 && ", "}<q>${word}</q>`)}: such words are almost everywhere.</p>`}
    ${hit.steps.length > 0 && html`<h4>Steps, each with the score after it</h4>
    <ol class="plain">${hit.steps.map((step) => html`<li><b>${step.step}</b> ${step.said} → ${step.score.toFixed(3)}</li>`)}</ol>`}
    <p>${hit.relevance != null && `Its score is ${percent(hit.relevance)} of the highest possible. `}Split by <code>${hit.strategy}</code>. Characters
      ${" "}${number(hit.start_char)} to ${number(hit.end_char)}.</p>
    ${hit.also_at.length > 0 && html`<h4>The same text is also in</h4><ul class="plain">
      ${hit.also_at.map((other) => html`<li><${ToDocument} uri=${other.uri} chunk=${other.chunk_id} /></li>`)}</ul>`}
    ${/^https?:/.test(hit.source_url) && html`<p><a href=${hit.source_url} rel="noreferrer noopener">Open the original</a></p>`}
  </details>
`;

const narrowed = (where) => (where.length === 0 ? {} : isReport ? { conditions: where } : { where: asSql(where) });
