// Asked: the questions of an evaluation with the ranks of their answers, and the changes since another evaluation.
import { html } from "./vendor/preact-htm.js";
import { useQuestion, useRows } from "./ask.js";
import { mode } from "./charts.js";
import { written } from "./conditions.js";
import { Answer, Empty, Sql, ToDocument } from "./parts.js";
import { quoted } from "./questions.js";
import { isReport, rowsOf } from "./report.js";
import { go, link } from "./state.js";
import { number, plural, time } from "./words.js";

const DEPTH = 10; // of the rankings, for an evaluation that does not state it
const NAMED = 5; // questions that are named among those not asked
const SHOWN = 100; // questions shown of a group, the worst first

/** The view. `evaluation` and `before` in the address are ids of measures. */
export function Asked({ place, status }) {
  const all = useQuestion("evaluations");
  return html`
    <p><a href=${link("health")}>Health</a></p>
    <${Answer} of=${all} what="Looking for the evaluation">${(rows) => {
      const own = rows.find((row) => row.evaluation_id === place.evaluation);
      if (!own) return html`<${Empty} title="There is no such evaluation"><a href=${link("health")}>All are under Health.</a> One that is repeated replaces the one before.<//>`;
      return html`<${Evaluation} own=${own} others=${alike(rows, own)} place=${place} status=${status} />`;
    }}<//>
  `;
}

/** Return the other evaluations with the same questions and measure: first those of the same ranking, newest first. */
const alike = (rows, own) => rows.filter((row) => row !== own && row.subject === own.subject && row.measure === own.measure)
  .sort((one, other) => (mode(other) === mode(own)) - (mode(one) === mode(own)) || other.created.localeCompare(one.created));

const name = (row) => (row.snapshot ? `snapshot ${row.snapshot}` : row.candidate);
const statement = (row) => `SELECT question, text, rank, answers, hits FROM asked_questions WHERE asking = ${quoted(row?.asking)} ORDER BY question`;

/** Use the questions of an evaluation, each with its value; null asks nothing. */
function useAsked(row) {
  const wanted = row?.asking ? row : null;
  const asked = useRows(wanted && statement(wanted), async () => (await rowsOf("asked")).filter((one) => one.asking === wanted.asking));
  const values = useRows(wanted && `SELECT evaluation_id, items, item_values FROM evaluations WHERE evaluation_id = ${quoted(wanted.evaluation_id)}`, () => rowsOf("values"));
  if (!wanted || asked.error || values.error) return wanted ? (asked.error ? asked : values) : { value: [] };
  const own = values.value?.find((one) => one.evaluation_id === wanted.evaluation_id);
  if (!asked.value || !own) return { busy: true };
  const of = new Map(own.items.map((item, place) => [item, own.item_values[place]]));
  return { value: asked.value.map((one) => ({ ...one, value: of.get(one.question) })) };
}

function Evaluation({ own, others, place, status }) {
  const before = others.find((row) => row.evaluation_id === place.before);
  const [asked, earlier] = [useAsked(own), useAsked(before)];
  const values = others.map((row) => html`<option value=${row.evaluation_id}>${name(row)}${mode(row)}, ${time(row.created)}: ${row.value.toFixed(3)}</option>`);
  return html`
    <h1>Which questions does it answer? ${own.measure} ${own.value.toFixed(3)}</h1>
    <p class="told"><bdi>${own.subject}</bdi>, ${name(own)}${mode(own)}, asked ${time(own.created)}. 95 % interval ${own.low.toFixed(3)} to ${own.high.toFixed(3)}.</p>
    ${others.length > 0 && html`<p class="ways"><label>Compare with <select value=${before?.evaluation_id ?? ""}
      onChange=${(event) => go("questions", { evaluation: own.evaluation_id, before: event.target.value })}><option value="">none</option>${values}</select></label>
      ${before && own.snapshot > 0 && before.snapshot > 0 && before.snapshot !== own.snapshot && html`<a href=${link("compare", { what: "snapshots", old: before.snapshot, new: own.snapshot })}>What changed between the two snapshots</a>`}</p>`}
    ${own.asking ? html`<${Answer} of=${asked} what="Reading the questions">${(rows) => html`<${Answer} of=${earlier} what="Reading the questions before">${(old) =>
      html`<${Groups} rows=${joined(rows, old)} old=${old} own=${own} before=${old.length ? before : null} status=${status} />`}<//>`}<//>
      <${Sql}>${statement(own)}<//>`
      : html`<${Empty} title="Its questions were not kept">An older docmill measured it, or it ran with <code>--no-values</code>. Run <code>docmill evaluate</code> again to see them.<//>`}
    ${before && !before.asking && html`<p class="told">The questions of ${name(before)} were not kept, so what changed since then cannot be shown.</p>`}
  `;
}

/** Return the questions with their earlier ranks, the largest falls first. */
function joined(rows, old) {
  const known = new Map(old.map((one) => [one.question, one]));
  return rows.map((one) => ({ ...one, before: known.get(one.question) })).sort((one, other) => fell(other) - fell(one) || far(other.rank) - far(one.rank));
}

const far = (rank) => rank ?? Infinity;
const NOWHERE = 1000; // the fall of a question whose answer is no longer found: more than any ranking has places
const fell = ({ rank, before }) => (before ? Math.min(far(rank), NOWHERE) - Math.min(far(before.rank), NOWHERE) : 0);
const differs = (one) => one.before && (one.rank !== one.before.rank || one.value !== one.before.value);

function Groups({ rows, old, own, before, status }) {
  const depth = settings(own).depth ?? DEPTH;
  const rest = rows.filter((one) => !differs(one));
  const here = new Set(rows.map((one) => one.question));
  const changed = rows.filter(differs);
  const only = before ? old.filter((one) => !here.has(one.question)) : [];
  const groups = [
    [before && `Changed since ${name(before)}`, changed],
    [`Not found among the first ${depth}`, rest.filter((one) => far(one.rank) > depth)],
    ["Found, but not first", rest.filter((one) => one.rank > 1 && one.rank <= depth)],
    ["Found first", rest.filter((one) => one.rank === 1)],
  ];
  const missing = before && rows.filter((one) => !one.before).length;
  return html`
    ${before && !changed.length && html`<p class="good">No question that both were asked has changed since ${name(before)}.</p>`}
    ${(missing > 0 || only.length > 0) && html`<p class="told">The two were asked different questions: ${plural(missing, "question")} of this one and ${number(only.length)} of ${name(before)} were left out of the other.
      ${only.length > 0 && ` Left out here: ${only.slice(0, NAMED).map((one) => one.text).join(" · ")}`}</p>`}
    ${groups.filter(([title, some]) => title && some.length).map(([title, some], place) => html`
      <details open=${place === 0 || title !== "Found first"}><summary><h2 class="inline">${title}</h2> <span class="figure">${number(some.length)}</span></summary>
        <ol class="hits">${some.slice(0, SHOWN).map((one) => html`<${Question} key=${one.question} of=${one} own=${own} before=${before} depth=${depth} status=${status} />`)}</ol>
        ${some.length > SHOWN && html`<p class="told">${plural(some.length - SHOWN, "more question")}: the SQL below has all.</p>`}</details>`)}
  `;
}

/** Return the snapshot of an evaluation for a link, "" for the one shown. The current snapshot may lack its chunks. */
const atOf = (row, status) => (row.snapshot === status.snapshot ? "" : row.snapshot || row.candidate);

function settings(row) {
  try { return JSON.parse(row.settings); } catch { return {}; }
}

const foundAt = (rank, depth) => (rank == null ? "not found" : rank > depth ? `at rank ${rank}, beyond the ${depth} that count` : `found at rank ${rank}`);

function Question({ of, own, before, depth, status }) {
  const at = { at: atOf(own, status) || null };
  return html`<li class="hit">
    <h3 dir="auto">${of.text}</h3>
    <p><b>${foundAt(of.rank, depth)}</b>${of.before && before && html`; ${name(before)}: ${foundAt(of.before.rank, depth)}`}.
      ${of.value != null && html` <span class="told">${own.measure} ${of.value.toFixed(2)}${of.before?.value != null && of.before.value !== of.value && `, before ${of.before.value.toFixed(2)}`}</span>`}</p>
    ${of.answers.map((answer) => html`<p>${answer.rank ? `The answer, found at rank ${answer.rank}:` : "The answer, not found:"} <${Where} of=${answer} at=${at} /></p>
      ${answer.quotation && html`<p class="context" dir="auto">${answer.quotation}</p>`}`)}
    <details open=${of.rank !== 1}><summary>${of.rank === 1 ? "What came first" : "What came instead"}</summary>
      ${of.hits.length > 0 ? html`<ol class="plain">${of.hits.map((hit) => html`<li value=${hit.rank}><${ToDocument} uri=${hit.uri} chunk=${hit.chunk_id} of=${at} />${hit.right && " – the answer"}</li>`)}</ol>`
        : html`<p>Nothing: no chunk matches this question.</p>`}</details>
    ${!isReport && html`<p><a href=${link("search", { ...at, q: of.text, mode: settings(own).mode })}>Ask it again</a>
      ${before && before.snapshot !== own.snapshot && html` <a href=${link("compare", { q: of.text, a_at: atOf(before, status), b_at: atOf(own, status), a_mode: settings(before).mode, b_mode: settings(own).mode })}>Ask both snapshots</a>`}</p>`}
  </li>`;
}

/** Links to the chunks that contain an answer, or to its document. */
function Where({ of, at }) {
  if (!of.uri) return html`<span class="told">${of.document ? html`no document <bdi>${of.document}</bdi>` : "in no document"}</span>`;
  if (of.start_char == null) return html`<${ToDocument} uri=${of.uri} of=${at} />`;
  const over = written([["uri", "=", of.uri], ["start_char", "<=", of.end_char - 1], ["end_char", ">=", of.start_char + 1], ["children", "=", 0]]);
  return html`<a href=${link("chunks", { ...at, is: over, title: `Where ${of.uri} answers it` })}><bdi>${of.uri}</bdi>, characters ${number(of.start_char)} to ${number(of.end_char)}</a>`;
}
