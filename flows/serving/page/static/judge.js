// Judge: users mark which hits answer a question. The server keeps this for `docmill evaluate` and `docmill tune`.
import { html, useEffect, useState } from "./vendor/preact-htm.js";
import { ask, path } from "./ask.js";
import { Answer, Empty, ToDocument } from "./parts.js";
import { lasting, link } from "./state.js";
import { Term } from "./terms.js";
import { number, plural, time } from "./words.js";

const NAME = "docmill-name";
const LONGEST = 4000; // characters of a quotation that the API accepts
const nameOf = () => localStorage.getItem(NAME) ?? "";

let taken = false; // whether the server accepts judgements, remembered so that the bar above the hits does not appear late

/** Use the judgements of a question: { query, list, open, shown, add, withdraw }. For "", nothing is requested. */
export function useJudging(query) {
  const [found, set] = useState({});
  const { store, at } = lasting();
  const load = (of) => ask(path("judgements", { query: of })).then((value) => (taken = value.judging, set({ of, ...value })), (error) => set({ of, error }));
  useEffect(() => void (query && load(query)), [query, store, at]);
  const known = found.of === query ? found : {};
  const add = async (body, snapshot) => {
    await ask("judgements", { query, by: nameOf(), at: snapshot, ...body, ...(store && { store }) });
    await load(query);
  };
  const withdraw = async (one) => {
    await ask(path(`judgements/${one.judgement_id}/withdrawn`, { at: "" }), {});
    await load(query);
  };
  return { query, list: known.judgements ?? [], open: Boolean(query && known.judging), shown: taken, add, withdraw };
}

const overlaps = ({ now }, hit) => now && now.uri === hit.uri && now.start_char < hit.end_char && now.end_char > hit.start_char;
const said = (one) => `${one.judged_by || "somebody"}: ${SAID[one.verdict]}`;
const SAID = { right: "right", wrong: "wrong", answer: "the answer is here", absent: "not in this store" };

/** Use a function that runs a step and keeps the server's error message. */
function useStep() {
  const [error, set] = useState("");
  return [error, async (step) => {
    set("");
    try { await step(); } catch (why) { set(why.message); }
  }, set];
}

/** The judgement of one hit: right, wrong, or a selected passage. */
export function Judge({ hit, judging, snapshot }) {
  const [error, run, tell] = useStep();
  const own = judging.list.filter((one) => overlaps(one, hit));
  if (!judging.open) return own.length > 0 && html`<${Others} of=${own} />`;
  const mine = own.find((one) => one.judged_by === nameOf() && one.verdict !== "answer");
  const press = (relevant) => run(() => (mine && (mine.verdict === "right") === relevant ? judging.withdraw(mine) : judging.add({ chunk_id: hit.chunk_id, relevant }, snapshot)));
  const mark = (event) => {
    const quotation = marked(event.currentTarget.closest(".hit") ?? document.querySelector(".canonical"));
    if (!quotation) return tell("Mark the passage in the text above first, then press this.");
    if (quotation.length > LONGEST) return tell("Mark less: a passage has 4,000 characters at most.");
    return run(() => judging.add({ chunk_id: hit.chunk_id, quotation }, snapshot));
  };
  return html`<div class="judge" role="group" aria-label="Does this answer the question?">
    <button type="button" aria-pressed=${mine?.verdict === "right"} onClick=${() => press(true)}>Right</button>
    <button type="button" aria-pressed=${mine?.verdict === "wrong"} onClick=${() => press(false)}>Wrong</button>
    <button type="button" title="Mark a passage in the text, then press this" onPointerDown=${(event) => event.preventDefault()} onClick=${mark}>The answer is here</button>
    <${Others} of=${own} />
    ${error && html`<span class="failure" role="alert">${error}</span>`}
  </div>`;
}

/** Return the selected text in an element, or "". */
function marked(element) {
  const chosen = getSelection();
  const inside = chosen.rangeCount > 0 && element.contains(chosen.getRangeAt(0).commonAncestorContainer);
  return inside ? chosen.toString().trim() : "";
}

const Others = ({ of }) => html`
  ${of.length > 0 && html`<span role="status">${of.map(said).join(" · ")}</span>`}
  ${of.some((one) => one.disputed) && html`<b><${Term} of="disputed" /></b>`}
`;

/** A judgement on all hits, that the store has no answer, and the name of the judge. */
export function JudgeAll({ judging, snapshot }) {
  const [error, run] = useStep();
  const [name, type] = useState(nameOf);
  if (!judging.shown) return null;
  const none = judging.list.filter((one) => one.verdict === "absent");
  const mine = none.find((one) => one.judged_by === nameOf());
  const press = () => run(() => (mine ? judging.withdraw(mine) : judging.add({ relevant: false }, snapshot)));
  return html`<div class="judge judging" role="group" aria-label="Judge all hits">
    <span>No hit answers?</span>
    <button type="button" disabled=${!judging.open} aria-pressed=${Boolean(mine)} onClick=${press}>Not in this store</button>
    <${Others} of=${none} />
    <label>You judge as <input value=${name} maxlength="200" autocomplete="nickname" placeholder="your name" onInput=${(event) => (type(event.target.value), localStorage.setItem(NAME, event.target.value.trim()))} /></label>
    <a href=${link("judgements")}>All judgements</a>
    ${error && html`<span class="failure" role="alert">${error}</span>`}
  </div>`;
}

const SHOWN = 50; // judgements; more are rarely read, and each shows its passage
const QUOTED = 300; // characters of a passage: enough to recognize it
const STATES = { found: "unchanged", moved: "moved here", changed: "changed in part", lost: "no document has this passage any more" };

/** The view of all judgements, newest first, each with its place in the snapshot shown. */
export function Judgements() {
  const [found, set] = useState({});
  const [error, run] = useStep();
  const [all, show] = useState(false);
  const load = () => ask(path("judgements")).then((value) => set({ value }), (why) => set({ error: why }));
  useEffect(() => void load(), []);
  const take = (one) => run(async () => {
    await ask(path(`judgements/${one.judgement_id}/withdrawn`, { at: "" }), {});
    await load();
  });
  return html`<h1>What did people judge?</h1>
    <${Answer} of=${found} what="Looking for the passages">${({ judgements, judging, left_out: left }) => judgements.length === 0
      ? html`<${Empty} title="Nothing yet">Search, then press <b>Right</b> or <b>Wrong</b> below a hit.<//>`
      : html`<p class="told">${plural(judgements.length, "judgement")}${left ? `, and ${left.judgements} older ones that do not fit here` : ""}.${" "}
        <code>docmill tune</code> tries other settings with them, for each content type that has 8 judged queries;${" "}
        <code>docmill evaluate --judged</code> measures a search by them; <code>docmill judge export FILE</code> writes them as questions.</p>
      ${error && html`<p class="failure" role="alert">${error}</p>`}
      <ol class="hits">${judgements.toReversed().slice(0, all ? undefined : SHOWN).map((one) => html`<${One} key=${one.judgement_id} of=${one} take=${judging && take} />`)}</ol>
      ${judgements.length > SHOWN && !all && html`<p><button type="button" onClick=${() => show(true)}>Show all ${number(judgements.length)}</button></p>`}`}<//>`;
}

const One = ({ of, take }) => html`<li class="hit">
  <h3><a href=${link("search", { q: of.query })}><bdi>${of.query}</bdi></a></h3>
  <p><b>${SAID[of.verdict]}</b>${of.disputed && html`, <b>disputed</b>`} <span class="told">by <bdi>${of.judged_by || "somebody"}</bdi>, ${time(of.created)}</span></p>
  ${of.quotation && html`<p class="context" dir="auto">${of.quotation.slice(0, QUOTED)}${of.quotation.length > QUOTED && "…"}</p>`}
  ${of.note && html`<p><bdi>${of.note}</bdi></p>`}
  ${of.verdict !== "absent" && html`<p>${of.now ? html`<${ToDocument} uri=${of.now.uri} />` : html`<bdi>${of.uri}</bdi>`}: ${STATES[of.state]}</p>`}
  ${take && html`<div class="judge"><button type="button" onClick=${() => take(of)}>Take back</button></div>`}
</li>`;
