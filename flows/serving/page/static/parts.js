// Parts: small components that all views use.
import { html, useState } from "./vendor/preact-htm.js";
import { Drawn } from "./markdown.js";
import { useKeys } from "./pictured.js";
import { link } from "./state.js";
import { MEANINGS, Term } from "./terms.js";
import { colour, TYPES } from "./types.js";
import { number } from "./words.js";

/** The name of a content type, with its colour. */
export const Type = ({ of }) => html`<span class="type" title=${TYPES[of]} style=${{ "--colour": colour(of) }}>${of}</span>`;

const BLANK = /\n\s*\n\s*\n/g; // more than one blank line is useless in an excerpt
const LONG = 900; // characters; a longer hit pushes the next one off the screen

/** The text of a chunk, rendered, with matched words highlighted. A long text is cut until the user opens it. */
export function Excerpt({ of, terms = [], long = LONG }) {
  const text = useKeys(of).replace(BLANK, "\n\n");
  const [whole, show] = useState(text.length <= long);
  return html`
    <${Drawn} text=${whole ? text : text.slice(0, long)} own=${whole ? of.text : of.text.slice(0, long)} terms=${terms} type=${of.content_type} context=${of.context} cut=${!whole} />
    ${!whole && html`<button type="button" class="more" onClick=${() => show(true)}>Show the rest</button>`}
  `;
}

/** A message in place of an empty list: what it means, and what to do. */
export const Empty = ({ title, children }) => html`<div class="empty"><h2>${title}</h2><p>${children}</p></div>`;

/** An error, in the words of the server. */
export const Failure = ({ error }) => error.kind === "NotHeld"
  ? html`<${Empty} title="This is not in the report">${error.message}<//>`
  : html`<div class="failure" role="alert"><strong>That did not work.</strong> <${Said} of=${error.message} /></div>`;

/** A message. Its lines after the first point at a place in a statement by their columns. */
function Said({ of }) {
  const [first, ...rest] = of.split("\n");
  return html`<span>${first}</span>${rest.length > 0 && html`<pre tabindex="0">${rest.join("\n")}</pre>`}`;
}

/** A waiting indicator. It appears after a delay, so that quick answers do not flicker. */
export const Busy = ({ what = "Loading" }) => html`<p class="busy" role="status">${what}…</p>`;

/** An answer: an error, a waiting indicator, or what `children` returns for its value. */
export function Answer({ of, what, children }) {
  if (of.error) return html`<${Failure} error=${of.error} />`;
  if (of.value === undefined) return html`<${Busy} what=${what} />`;
  return children(of.value);
}

/** A bar for a share in [0, 1], with its number. */
export const Bar = ({ share, label, of = "var(--accent)" }) => html`
  <span class="bar">
    <span class="track"><span class="fill" style=${{ width: `${100 * Math.min(1, Math.max(0, share))}%`, background: of }}></span></span>
    <span class="figure">${label}</span>
  </span>
`;

/** A link to a document or a chunk in it. `of` names a store or snapshot other than that of the address. */
export const ToDocument = ({ uri, chunk, of = {}, children }) =>
  html`<a class="uri" href=${link("document", { ...of, uri, chunk })}><bdi>${children ?? uri}</bdi></a>`;

const NAMED = 80; // characters of a chunk without headings, about a line

/** The name of a chunk: its last heading, or its first words. */
const nameOf = ({ headings, text }) => headings.slice(-2).join(" › ") || text.trim().slice(0, NAMED);

/** The chunks nearest to one, each with the cosine similarity of their vectors. */
export const Nearest = ({ hits }) => html`
  <table class="nearest"><caption class="unseen">Nearest chunks</caption><thead><tr><th scope="col" class="right"><${Term} of="similarity">Similarity<//></th><th scope="col">Chunk</th></tr></thead>
    <tbody>${hits.map((one) => html`<tr><td class="right">${one.score.toFixed(2)}</td><td class="wide"><${ToDocument} uri=${one.uri} chunk=${one.chunk_id}>${nameOf(one)}<//><br /><small><bdi>${one.uri}</bdi></small></td></tr>`)}</tbody></table>`;

/** The SQL of a chart, which users can extend with `docmill sql`. */
export const Sql = ({ children }) => html`<details class="sql"><summary>SQL</summary><pre>${children}</pre></details>`;

/** Buttons to choose one of a few values. */
export const Choice = ({ label, value, of, set }) => html`
  <fieldset class="choice">
    <legend class="unseen">${label}</legend>
    ${of.map(
      ([name, shown, meaning = MEANINGS[name]]) => html`<label class=${name === value ? "chosen" : ""} title=${meaning}>
        <input type="radio" name=${label} value=${name} checked=${name === value} onChange=${() => set(name)} />${shown}
      </label>`,
    )}
  </fieldset>
`;

/** A table. Each column is { name, of, right, wide, term }: heading, function of a row, alignment, width, and the term of docmill that it shows. */
export const Table = ({ columns, rows, caption }) => html`
  <div class="scrolled" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <caption class="unseen">${caption}</caption>
      <thead>
        <tr>${columns.map((one) => html`<th scope="col" class=${one.right ? "right" : ""}>${one.term ? html`<${Term} of=${one.term}>${one.name}<//>` : one.name}</th>`)}</tr>
      </thead>
      <tbody>
        ${rows.map((row) => html`<tr>
          ${columns.map((one) => html`<td class=${[one.right && "right", one.wide && "wide"].filter(Boolean).join(" ")}>${shown(one.of(row))}</td>`)}
        </tr>`)}
      </tbody>
    </table>
  </div>
`;

const SHOWN = 20; // rows of a list, with a button for all of them below

/** A table of the first rows, and the rest on demand. */
export function List({ rows, ...of }) {
  const [all, show] = useState(false);
  return html`<${Table} ...${of} rows=${all ? rows : rows.slice(0, SHOWN)} />
    ${rows.length > SHOWN && !all && html`<p><button type="button" onClick=${() => show(true)}>Show all ${number(rows.length)}</button></p>`}`;
}

const shown = (value) => (typeof value === "number" ? number(value) : value);

/** Show a value in an input (as its `ref`) unless the user is typing there: a late answer would overwrite what they typed. */
export const showing = (value) => (input) => {
  if (input && input !== document.activeElement) input.value = value;
};
