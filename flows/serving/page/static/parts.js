// Parts: small pieces that every view is made of.
import { html, useState } from "./vendor/preact-htm.js";
import { Drawn } from "./markdown.js";
import { useKeys } from "./pictured.js";
import { link } from "./state.js";
import { MEANINGS, Term } from "./terms.js";
import { colour, TYPES } from "./types.js";
import { number } from "./words.js";

/** The name of a content type, with its colour. */
export const Type = ({ of }) => html`<span class="type" title=${TYPES[of]} style=${{ "--colour": colour(of) }}>${of}</span>`;

const BLANK = /\n\s*\n\s*\n/g; // more than one blank line says nothing in an excerpt
const LONG = 900; // characters; a hit that shows more of itself pushes the next one off the screen

/** The text of a chunk, drawn, with the words of a search lit. A long one is cut until somebody asks for the rest. */
export function Excerpt({ of, terms = [], long = LONG }) {
  const text = useKeys(of).replace(BLANK, "\n\n");
  const [whole, show] = useState(text.length <= long);
  return html`
    <${Drawn} text=${whole ? text : text.slice(0, long)} own=${whole ? of.text : of.text.slice(0, long)} terms=${terms} type=${of.content_type} context=${of.context} cut=${!whole} />
    ${!whole && html`<button type="button" class="more" onClick=${() => show(true)}>Show the rest</button>`}
  `;
}

/** What stands where nothing is: what it means, and what to do. */
export const Empty = ({ title, children }) => html`<div class="empty"><h2>${title}</h2><p>${children}</p></div>`;

/** What went wrong, in the words of the server. */
export const Failure = ({ error }) => error.kind === "NotHeld"
  ? html`<${Empty} title="This is not in the report">${error.message}<//>`
  : html`<div class="failure" role="alert"><strong>That did not work.</strong> <${Said} of=${error.message} /></div>`;

/** A message; the lines after its first point at a place in a statement, by their columns. */
function Said({ of }) {
  const [first, ...rest] = of.split("\n");
  return html`<span>${first}</span>${rest.length > 0 && html`<pre tabindex="0">${rest.join("\n")}</pre>`}`;
}

/** That something takes time; it shows after a moment only, so that quick answers do not flicker. */
export const Busy = ({ what = "Loading" }) => html`<p class="busy" role="status">${what}…</p>`;

/** An answer: the failure, or that it takes time, or what `children` make of its value. */
export function Answer({ of, what, children }) {
  if (of.error) return html`<${Failure} error=${of.error} />`;
  if (of.value === undefined) return html`<${Busy} what=${what} />`;
  return children(of.value);
}

/** A bar of a share in [0, 1], with its number. */
export const Bar = ({ share, label, of = "var(--accent)" }) => html`
  <span class="bar">
    <span class="track"><span class="fill" style=${{ width: `${100 * Math.min(1, Math.max(0, share))}%`, background: of }}></span></span>
    <span class="figure">${label}</span>
  </span>
`;

/** A link to a document, or to a chunk in it; `of` names another store or snapshot than that of the address. */
export const ToDocument = ({ uri, chunk, of = {}, children }) =>
  html`<a class="uri" href=${link("document", { ...of, uri, chunk })}><bdi>${children ?? uri}</bdi></a>`;

const NAMED = 80; // characters of a chunk without headings: about a line

/** What names a chunk: the last of its headings, or how it begins. */
const nameOf = ({ headings, text }) => headings.slice(-2).join(" › ") || text.trim().slice(0, NAMED);

/** The chunks nearest to one, each with the cosine of the angle between its vector and that one's. */
export const Nearest = ({ hits }) => html`
  <table class="nearest"><caption class="unseen">Nearest chunks</caption><thead><tr><th scope="col" class="right"><${Term} of="similarity">Similarity<//></th><th scope="col">Chunk</th></tr></thead>
    <tbody>${hits.map((one) => html`<tr><td class="right">${one.score.toFixed(2)}</td><td class="wide"><${ToDocument} uri=${one.uri} chunk=${one.chunk_id}>${nameOf(one)}<//><br /><small><bdi>${one.uri}</bdi></small></td></tr>`)}</tbody></table>`;

/** The statement of a picture. Whoever wants more goes on from it with `docmill sql`. */
export const Sql = ({ children }) => html`<details class="sql"><summary>SQL</summary><pre>${children}</pre></details>`;

/** A choice of one among a few. */
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

/** A table of rows. Each column is { name, of, right, wide, term }: its heading, a function of a row, how it stands, and which word of docmill's own it is. */
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

const SHOWN = 20; // rows of a list; the way to all of them stands below

/** A table of the first rows, and the rest on demand. */
export function List({ rows, ...of }) {
  const [all, show] = useState(false);
  return html`<${Table} ...${of} rows=${all ? rows : rows.slice(0, SHOWN)} />
    ${rows.length > SHOWN && !all && html`<p><button type="button" onClick=${() => show(true)}>Show all ${number(rows.length)}</button></p>`}`;
}

const shown = (value) => (typeof value === "number" ? number(value) : value);

/** Show a value in an input (as its `ref`) unless a person is typing there: an answer that comes meanwhile would take back what they typed. */
export const showing = (value) => (input) => {
  if (input && input !== document.activeElement) input.value = value;
};
