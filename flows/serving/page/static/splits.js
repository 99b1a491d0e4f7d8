// Splits: one document, split in two ways, side by side, with the differences marked.
import { html, useEffect, useMemo, useState } from "./vendor/preact-htm.js";
import { ask, documentPath, path, useAnswer, useQuestion, useRows } from "./ask.js";
import { Block, blocksOf } from "./bounds.js";
import { Answer, Empty, Excerpt, Failure, ToDocument } from "./parts.js";
import { quoted } from "./questions.js";
import { go, lasting } from "./state.js";
import { number, plural, slicer, time, wordsOf } from "./words.js";

const MOST_CHARACTERS = 5000000; // as many as the API gives
const OFFERED = 20; // names suggested below the box
const PAUSE_MS = 200;
const [STORED, SET] = ["stored", "settings"]; // the stored chunks, and the chunks of the server's current settings
const SIDES = [["a", "Left", STORED], ["b", "Right", "recursive"]];
const AT = "at:"; // prefix of the number of an earlier snapshot
const NEAREST = 3; // chunks shown on each side for a question
const SHORT = 300; // characters of one of them
const MOST_CELLS = 4e6; // of the table of common chunks (16 MB); texts with more chunks are shown as one row

export function Splits({ place }) {
  const set = (values) => go("compare", { ...place, view: "", ...values });
  return html`
    <${PickDocument} key=${place.uri} place=${place} set=${set} />
    ${place.uri ? html`<${Sides} key=${place.uri} place=${place} set=${set} />`
      : html`<${Empty} title="Which document?">Type a part of its name. Each side splits it in its own way: as the
        store holds it, as an earlier snapshot held it, or by a strategy with its options. Nothing is stored.<//>`}
  `;
}

/** A box that suggests documents by a part of their names. */
function PickDocument({ place, set }) {
  const [typed, type] = useState(place.uri ?? "");
  const [late, settle] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => settle(typed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const statement = `SELECT uri FROM documents WHERE contains(lower(uri), ${quoted(late.toLowerCase())}) ORDER BY len(uri), uri LIMIT ${OFFERED}`;
  const found = useRows(statement);
  const names = (found.value ?? []).map((row) => row.uri);
  const [wanted, want] = useState(null); // what was entered before the suggestions arrived
  useEffect(() => {
    if (wanted === null || wanted !== late || !found.key?.endsWith(statement)) return;
    want(null);
    set({ uri: names.includes(wanted) ? wanted : (names[0] ?? wanted) });
  }, [wanted, late, found]);
  const take = (name) => (type(name), names.includes(name) && name !== place.uri && set({ uri: name }));
  const enter = (event) => (event.preventDefault(), settle(typed), want(typed));
  return html`
    <form class="ask" onSubmit=${enter}>
      <label for="document" class="unseen">Document</label>
      <input id="document" type="search" list="documents-offered" value=${typed} placeholder="Part of a document's name" autocomplete="off" onInput=${(event) => take(event.target.value)} />
      <datalist id="documents-offered">${names.map((name) => html`<option value=${name} />`)}</datalist>
      <button>Compare</button>
    </form>
  `;
}

function Sides({ place, set }) {
  const { uri } = place;
  const { store, at } = lasting();
  const own = useAnswer(`document ${store} ${at} ${uri}`, (signal) => ask(path(documentPath(uri), { max_characters: MOST_CHARACTERS }), undefined, signal));
  const known = useAnswer("strategies", (signal) => ask("strategies", undefined, signal));
  const [left, right] = SIDES.map(([side, , preset]) => useChunks(place, side, preset));
  const texts = SIDES.map(([side, , preset]) => useText(place, side, preset, own));
  const failed = own.error ?? texts.find((one) => one.error)?.error;
  if (failed) return html`<${Failure} error=${failed} />`;
  const strategies = known.value?.strategies ?? [];
  return html`
    <div class="sides">${SIDES.map(([side, title, preset]) => html`<${How} key=${side} side=${side} title=${title} preset=${preset} place=${place} strategies=${strategies} set=${set} />`)}</div>
    <${AskBoth} place=${place} set=${set} />
    <${Answer} of=${own} what="Reading the document">${(answer) => html`
      <p class="told"><${ToDocument} uri=${uri} /> · ${number(answer.document.characters)} characters</p>
      ${[left, right].filter((one) => one.error).map((one) => html`<${Failure} error=${one.error} />`)}
      ${place.q && texts.every((one) => one.value) && html`<div class="sides">${SIDES.map(([side, title, preset], number) => html`<${Nearest} key=${side} place=${place} side=${side} title=${title} preset=${preset} text=${texts[number].value.text} />`)}</div>`}
      ${left.value && right.value && texts.every((one) => one.value) && html`<${Beside} texts=${texts.map((one) => one.value)} left=${left.value} right=${right.value} />`}
      ${[left, right].some((one) => one.busy && !one.value && !one.error) && html`<p class="busy" role="status">Splitting…</p>`}`}<//>
  `;
}

/** A question for both sides: which chunks of this document are nearest to it? */
function AskBoth({ place, set }) {
  const [typed, type] = useState(place.q ?? "");
  return html`
    <form class="ask" onSubmit=${(event) => (event.preventDefault(), set({ q: typed.trim() }))}>
      <label for="both" class="unseen">A question for both sides</label>
      <input id="both" type="search" value=${typed} placeholder="A question for both sides: which chunk comes nearest?" onInput=${(event) => type(event.target.value)} />
      <button>Ask both</button>
    </form>
  `;
}

/** The chunks of this document, on one side, whose vectors are nearest to the question. */
function Nearest({ place, side, title, preset, text }) {
  const cut = useMemo(() => slicer(text), [text]);
  return html`<section aria-label=${`${title}: nearest to the question`}><h2>${title}: nearest to the question</h2>
    <${Answer} of=${useNearest(place, side, preset)} what="Comparing vectors">${(found) => html`<ol class="hits">${found.map((row) => html`<li class="hit">
      <h3>${row.score.toFixed(2)} <span class="told">characters ${number(row.start_char)} to ${number(row.end_char)}</span></h3>
      <${Excerpt} of=${{ ...row, text: cut(row.start_char, row.end_char) }} terms=${wordsOf({ terms: {} }, place.q)} long=${SHORT} /></li>`)}</ol>`}<//></section>`;
}

function useNearest(place, side, preset) {
  const how = place[`${side}_how`] || preset;
  const held = how === STORED || how.startsWith(AT);
  const { store } = lasting();
  const at = how.startsWith(AT) ? how.slice(AT.length) : lasting().at;
  const of = { ...(store && { store }), ...(at && { at }) };
  const body = held ? { query: place.q, k: NEAREST, mode: "vector", where: `uri = ${quoted(place.uri)} AND len(children) = 0`, ...of }
    : { uri: place.uri, strategy: how === SET ? "" : how, options: optionsOf(place[`${side}_options`] ?? ""), query: place.q, ...of };
  return useAnswer(`nearest ${JSON.stringify(body)}`, async (signal) => {
    const { hits, chunks } = await ask(held ? "search" : "trial", body, signal);
    const rows = held ? hits.map((hit) => ({ ...hit, score: hit.vector_score })) : chunks.filter((row) => row.leaf);
    return rows.sort((one, other) => other.score - one.score).slice(0, NEAREST);
  });
}

/** The strategy and options by which one side is split. */
function How({ side, title, preset, place, strategies, set }) {
  const how = place[`${side}_how`] || preset;
  const kept = useQuestion("snapshots");
  const [typed, type] = useState(place[`${side}_options`] ?? "");
  const options = strategies.find((one) => one.name === how)?.options ?? [];
  return html`
    <fieldset class="how">
      <legend>${title}</legend>
      <label>Split <select value=${how} onChange=${(event) => (type(""), set({ [`${side}_how`]: event.target.value, [`${side}_options`]: "" }))}>
        <option value=${STORED}>as stored</option><option value=${SET}>as this server is set</option>
        ${(kept.value ?? []).map((one) => html`<option value=${AT + one.snapshot}>as in snapshot ${one.snapshot}, ${time(one.created)}</option>`)}
        ${strategies.map((one) => html`<option value=${one.name}>by ${one.name}</option>`)}
      </select></label>
      ${options.length > 0 && html`<label>Options <input value=${typed} placeholder="size=200" onInput=${(event) => type(event.target.value)}
        onChange=${(event) => set({ [`${side}_options`]: event.target.value.trim() })} /></label>
        <details><summary>All options</summary><dl>${options.map((one) => html`<dt><code>${one.name}</code>${one.default != null && ` = ${one.default}`}</dt>
          <dd>${one.meaning}${one.unit && ` (${one.unit})`}</dd>`)}</dl></details>`}
    </fieldset>
  `;
}

/** Return the options in a text such as "size=200, overlap=20". Numbers, lists and true are JSON, all else is text. */
function optionsOf(text) {
  const pairs = text.split(/,(?=\s*\w+\s*=)/).map((one) => one.trim()).filter(Boolean);
  return Object.fromEntries(pairs.map((pair) => {
    const [name, value = ""] = pair.split(/=(.*)/s);
    try {
      return [name.trim(), JSON.parse(value)];
    } catch {
      return [name.trim(), value.trim()];
    }
  }));
}

/** Use the leaves of a side: the chunks that contain no other ones. */
function useChunks(place, side, preset) {
  const how = place[`${side}_how`] || preset;
  const { store, at } = lasting();
  const body = { uri: place.uri, strategy: how === SET ? "" : how, options: optionsOf(place[`${side}_options`] ?? ""), ...(store && { store }), ...(at && { at }) };
  const held = how === STORED || how.startsWith(AT);
  const stored = useRows(!held ? null : `SELECT ordinal, start_char, end_char, content_type, strategy, tokens FROM ${tableOf(how)}
    WHERE uri = ${quoted(place.uri)} AND len(children) = 0 AND end_char > start_char ORDER BY ordinal`);
  const tried = useAnswer(held ? null : `trial ${JSON.stringify(body)}`, async (signal) => {
    const { chunks } = await ask("trial", body, signal);
    return chunks.filter((row) => row.leaf && row.end_char > row.start_char);
  });
  return held ? stored : tried;
}

const tableOf = (how) => (how === STORED ? "chunks" : `chunks_at(${quoted(how.slice(AT.length))})`);

/** Use the text of a side, { text, end_char }, which in an earlier snapshot may differ from `own`. */
function useText(place, side, preset, own) {
  const how = place[`${side}_how`] || preset;
  const { store } = lasting();
  const at = how.startsWith(AT) ? how.slice(AT.length) : null;
  const earlier = useAnswer(at && `document ${store} ${at} ${place.uri}`, (signal) => ask(path(documentPath(place.uri), { at, max_characters: MOST_CHARACTERS }), undefined, signal));
  return at ? earlier : own;
}

const spanOf = (row) => `${row.start_char} ${row.end_char}`;
const middle = (numbers) => [...numbers].sort((one, other) => one - other)[numbers.length >> 1] ?? 0;

function Beside({ texts, left, right }) {
  const cuts = useMemo(() => texts.map((one) => slicer(one.text)), texts);
  const equal = texts[0].text === texts[1].text;
  const [ours, theirs] = useMemo(() => (equal ? marked(left, right) : markedByText(left, right, cuts)), [left, right, cuts]);
  const rows = useMemo(() => (equal ? rowsOf(ours, theirs, texts[0].end_char) : rowsByText(ours, theirs, texts, cuts)), [ours, theirs, cuts]);
  return html`
    <div class="sides">${[ours, theirs].map((side) => html`<p class="told">
      <b>${plural(side.length, "chunk")}</b>, ${number(side.filter((row) => row.differs).length)} only here;
      ${" "}tokens: median ${number(middle(side.map((row) => row.tokens)))}, most ${number(Math.max(0, ...side.map((row) => row.tokens)))}</p>`)}</div>
    ${rows.some((row) => !row.same) && html`<p class="told">${equal ? "A filled number marks where only this side begins a chunk."
      : "The text of the document changed between the two. A filled number marks a chunk whose text only this side has."}</p>`}
    ${rows.every((row) => row.same) && html`<${Empty} title="No difference">Both sides have the same chunks.<//>`}
    ${rows.map((row, place) => html`<${Row} key=${place} of=${row} cuts=${cuts} />`)}
  `;
}

/** Return both sides with the chunks and the starts of chunks that only one of them has. */
function marked(left, right) {
  const mark = (side, other) => {
    const [there, begun] = [new Set(other.map(spanOf)), new Set(other.map((row) => row.start_char))];
    return side.map((row) => ({ ...row, differs: !there.has(spanOf(row)), cutHere: !begun.has(row.start_char) }));
  };
  return [mark(left, right), mark(right, left)];
}

/**
 * Return rows { start, end, left, right, same } that cover the text. A row begins where chunks begin on both sides and
 * none continues, so that both sides of a row have the same text. Adjacent rows without differences are merged.
 */
function rowsOf(left, right, end) {
  const there = new Set(cleanStarts(right));
  const starts = [...new Set([0, ...cleanStarts(left).filter((one) => there.has(one))])];
  const rows = [];
  let [ours, theirs] = [0, 0];
  starts.forEach((start, place) => {
    const stop = starts[place + 1] ?? end;
    const row = { start, end: stop, left: [], right: [] };
    while (left[ours]?.start_char < stop) row.left.push(left[ours++]);
    while (right[theirs]?.start_char < stop) row.right.push(right[theirs++]);
    row.same = ![...row.left, ...row.right].some((one) => one.differs);
    const before = rows.at(-1);
    if (before?.same && row.same) Object.assign(before, { end: stop, left: [...before.left, ...row.left], right: [...before.right, ...row.right] });
    else rows.push(row);
  });
  return rows;
}

/** Return the starts of chunks that are inside no other chunk. This sorts the chunks by start. */
function cleanStarts(side) {
  side.sort((one, other) => one.start_char - other.start_char);
  const found = [];
  let reached = 0;
  for (const row of side) {
    if (row.start_char >= reached) found.push(row.start_char);
    reached = Math.max(reached, row.end_char);
  }
  return found;
}

/** Like `marked`, for sides with different texts: chunks with the same text are the same. */
function markedByText(left, right, cuts) {
  const keyed = [left, right].map((side, place) => side.map((row) => ({ ...row, text: cuts[place](row.start_char, row.end_char) })));
  const held = keyed.map((side) => new Set(side.map((row) => row.text)));
  return keyed.map((side, place) => side.map((row) => ({ ...row, differs: !held[1 - place].has(row.text), cutHere: !held[1 - place].has(row.text) }))
    .sort((one, other) => one.start_char - other.start_char));
}

/** Like `rowsOf`, with the spans of both sides. Chunks with the same text are in one row, in order. */
function rowsByText(left, right, texts, cuts) {
  const rows = [];
  const add = (kind, ours, theirs) => {
    const row = rows.at(-1)?.same === kind ? rows.at(-1) : (rows.push({ same: kind, left: [], right: [] }), rows.at(-1));
    row.left.push(...ours);
    row.right.push(...theirs);
  };
  let [one, other] = [0, 0];
  for (const [ours, theirs] of [...pairs(left, right), [left.length, right.length]]) {
    if (ours > one || theirs > other) add(false, left.slice(one, ours), right.slice(other, theirs));
    if (ours < left.length) add(true, [left[ours]], [right[theirs]]);
    [one, other] = [ours + 1, theirs + 1];
  }
  const reached = [0, 0];
  rows.forEach((row, place) => {
    row.spans = [row.left, row.right].map((side, of) => {
      const end = place + 1 === rows.length ? texts[of].end_char : Math.max(reached[of], ...side.map((chunk) => chunk.end_char));
      const first = side[0]?.start_char ?? end;
      const blank = !cuts[of](reached[of], first).trim(); // blank lines between chunks belong to none
      const span = [blank ? first : reached[of], end];
      reached[of] = end;
      return span;
    });
  });
  return rows;
}

/** Return the indexes [left, right] of chunks with the same text: a longest common subsequence. */
function pairs(left, right) {
  if (left.length * right.length > MOST_CELLS) return [];
  const width = right.length + 1;
  const common = new Uint32Array((left.length + 1) * width);
  for (let one = left.length - 1; one >= 0; one -= 1)
    for (let other = right.length - 1; other >= 0; other -= 1)
      common[one * width + other] = left[one].text === right[other].text ? 1 + common[(one + 1) * width + other + 1]
        : Math.max(common[(one + 1) * width + other], common[one * width + other + 1]);
  const found = [];
  for (let [one, other] = [0, 0]; one < left.length && other < right.length; ) {
    if (left[one].text === right[other].text) found.push([one++, other++]);
    else if (common[(one + 1) * width + other] >= common[one * width + other + 1]) one += 1;
    else other += 1;
  }
  return found;
}

function Row({ of, cuts }) {
  const drawn = html`<div class="sides row">${[of.left, of.right].map((side, place) => html`<div class="canonical">
    ${blocksOf(side, (of.spans?.[place] ?? [of.start, of.end])[1], cuts[place], (of.spans?.[place] ?? [of.start, of.end])[0]).map((pieces) => html`<${Block} pieces=${pieces} />`)}</div>`)}</div>`;
  if (!of.same) return drawn;
  return of.left.length > 0 && html`<${Folded} title=${`${plural(of.left.length, "chunk")} the same on both sides`}>${drawn}<//>`;
}

/** Content that is rendered only when the user opens it. */
function Folded({ title, children }) {
  const [open, set] = useState(false);
  return html`<details class="folded" onToggle=${(event) => set(event.target.open)}><summary>${title}</summary>${open && children}</details>`;
}
