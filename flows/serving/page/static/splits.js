// Splits: one document, split in two ways, side by side, with what differs marked.
import { html, useEffect, useMemo, useState } from "./vendor/preact-htm.js";
import { ask, documentPath, path, useAnswer, useRows } from "./ask.js";
import { Block, blocksOf } from "./bounds.js";
import { Answer, Empty, Failure, ToDocument } from "./parts.js";
import { quoted } from "./questions.js";
import { go, lasting } from "./state.js";
import { number, plural, slicer } from "./words.js";

const MOST_CHARACTERS = 5000000; // as many as the API gives
const OFFERED = 20; // names below the box
const PAUSE_MS = 200;
const [STORED, SET] = ["stored", "settings"]; // what the store holds; what the settings of the server would make now
const SIDES = [["a", "Left", STORED], ["b", "Right", "recursive"]];

export function Splits({ place }) {
  const set = (values) => go("compare", { ...place, view: "", ...values });
  return html`
    <${PickDocument} key=${place.uri} place=${place} set=${set} />
    ${place.uri ? html`<${Sides} key=${place.uri} place=${place} set=${set} />`
      : html`<${Empty} title="Which document?">Each side splits it in its own way: as the store holds it, or by a strategy with its options. Nothing is stored.<//>`}
  `;
}

/** A box that offers documents by a part of their names. */
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
  const [wanted, want] = useState(null); // what was entered before its names were there
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
  if (own.error) return html`<${Failure} error=${own.error} />`;
  const strategies = known.value?.strategies ?? [];
  return html`
    <div class="sides">${SIDES.map(([side, title, preset]) => html`<${How} key=${side} side=${side} title=${title} preset=${preset} place=${place} strategies=${strategies} set=${set} />`)}</div>
    <${Answer} of=${own} what="Reading the document">${(answer) => html`
      <p class="told"><${ToDocument} uri=${uri} /> · ${number(answer.document.characters)} characters</p>
      ${[left, right].filter((one) => one.error).map((one) => html`<${Failure} error=${one.error} />`)}
      ${left.value && right.value && html`<${Beside} answer=${answer} left=${left.value} right=${right.value} />`}
      ${[left, right].some((one) => one.busy && !one.value && !one.error) && html`<p class="busy" role="status">Splitting…</p>`}`}<//>
  `;
}

/** How one side is split: by what, and with which options. */
function How({ side, title, preset, place, strategies, set }) {
  const how = place[`${side}_how`] || preset;
  const [typed, type] = useState(place[`${side}_options`] ?? "");
  const options = strategies.find((one) => one.name === how)?.options ?? [];
  return html`
    <fieldset class="how">
      <legend>${title}</legend>
      <label>Split <select value=${how} onChange=${(event) => (type(""), set({ [`${side}_how`]: event.target.value, [`${side}_options`]: "" }))}>
        <option value=${STORED}>as stored</option><option value=${SET}>as this server is set</option>
        ${strategies.map((one) => html`<option value=${one.name}>by ${one.name}</option>`)}
      </select></label>
      ${options.length > 0 && html`<label>Options <input value=${typed} placeholder="size=200" onInput=${(event) => type(event.target.value)}
        onChange=${(event) => set({ [`${side}_options`]: event.target.value.trim() })} /></label>
        <details><summary>Which there are</summary><dl>${options.map((one) => html`<dt><code>${one.name}</code>${one.default != null && ` = ${one.default}`}</dt>
          <dd>${one.meaning}${one.unit && ` (${one.unit})`}</dd>`)}</dl></details>`}
    </fieldset>
  `;
}

/** Return the options that a text such as "size=200, overlap=20" names; numbers, lists and true are JSON, all else text. */
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

/** Use the leaves of a side: the chunks that no others lie in. */
function useChunks(place, side, preset) {
  const how = place[`${side}_how`] || preset;
  const { store, at } = lasting();
  const body = { uri: place.uri, strategy: how === SET ? "" : how, options: optionsOf(place[`${side}_options`] ?? ""), ...(store && { store }), ...(at && { at }) };
  const stored = useRows(how !== STORED ? null : `SELECT ordinal, start_char, end_char, content_type, strategy, tokens FROM chunks
    WHERE uri = ${quoted(place.uri)} AND len(children) = 0 AND end_char > start_char ORDER BY ordinal`);
  const tried = useAnswer(how === STORED ? null : `trial ${JSON.stringify(body)}`, async (signal) => {
    const { chunks } = await ask("trial", body, signal);
    return chunks.filter((row) => row.leaf && row.end_char > row.start_char);
  });
  return how === STORED ? stored : tried;
}

const spanOf = (row) => `${row.start_char} ${row.end_char}`;
const middle = (numbers) => [...numbers].sort((one, other) => one - other)[numbers.length >> 1] ?? 0;

function Beside({ answer, left, right }) {
  const cut = useMemo(() => slicer(answer.text), [answer.text]);
  const [ours, theirs] = useMemo(() => marked(left, right), [left, right]);
  const rows = useMemo(() => rowsOf(ours, theirs, answer.end_char), [ours, theirs]);
  return html`
    <div class="sides">${[ours, theirs].map((side) => html`<p class="told">
      <b>${plural(side.length, "chunk")}</b>, ${number(side.filter((row) => row.differs).length)} only here;
      ${" "}tokens: median ${number(middle(side.map((row) => row.tokens)))}, most ${number(Math.max(0, ...side.map((row) => row.tokens)))}</p>`)}</div>
    ${rows.some((row) => !row.same) && html`<p class="told">A filled number stands where only this side begins a chunk.</p>`}
    ${rows.every((row) => row.same) && html`<${Empty} title="No difference">Both sides have the same chunks.<//>`}
    ${rows.map((row) => html`<${Row} key=${row.start} of=${row} cut=${cut} />`)}
  `;
}

/** Return both sides with what only one of them has: the chunks that differ, and the beginnings that are cut here alone. */
function marked(left, right) {
  const mark = (side, other) => {
    const [there, begun] = [new Set(other.map(spanOf)), new Set(other.map((row) => row.start_char))];
    return side.map((row) => ({ ...row, differs: !there.has(spanOf(row)), cutHere: !begun.has(row.start_char) }));
  };
  return [mark(left, right), mark(right, left)];
}

/**
 * Return rows { start, end, left, right, same } that cover the text. A row begins where a chunk begins on both sides and
 * no chunk goes on, so that what stands beside each other is the same text; rows without a difference are one.
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

/** Return the beginnings of chunks that stand in no other chunk; the chunks are sorted by their beginnings here. */
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

function Row({ of, cut }) {
  const drawn = html`<div class="sides row">${[of.left, of.right].map((side) => html`<div class="canonical">
    ${blocksOf(side, of.end, cut, of.start).map((pieces) => html`<${Block} pieces=${pieces} />`)}</div>`)}</div>`;
  if (!of.same) return drawn;
  return of.left.length > 0 && html`<${Folded} title=${`${plural(of.left.length, "chunk")} the same on both sides`}>${drawn}<//>`;
}

/** What is shown only when somebody opens it, and made only then. */
function Folded({ title, children }) {
  const [open, set] = useState(false);
  return html`<details class="folded" onToggle=${(event) => set(event.target.open)}><summary>${title}</summary>${open && children}</details>`;
}
