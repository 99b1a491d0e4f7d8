// Chunks: those behind a bar or point of a chart, selected by a condition in SQL.
import { html } from "./vendor/preact-htm.js";
import { useRows } from "./ask.js";
import { asSql, holds, read } from "./conditions.js";
import { Drawn } from "./markdown.js";
import { useKeys } from "./pictured.js";
import { Answer, Empty, Sql, ToDocument, Type } from "./parts.js";
import { chunks, documents } from "./report.js";
import { plural } from "./words.js";

const MOST = 100; // on one page; for more, the user has to narrow the condition
const SHOWN = 600; // characters of a text
export const LONGEST = "tokens DESC";
export const TEXT = "text"; // an order that puts equal chunks next to each other

export function Chunks({ place }) {
  const conditions = read(place.is);
  const ofDocuments = asSql(read(place.of));
  const where = [asSql(conditions), ofDocuments && `uri IN (SELECT uri FROM documents WHERE ${ofDocuments})`, place.where && `(${place.where})`].filter(Boolean).join(" AND ") || "true";
  // Without texts: the server adds those of the shown chunks, while SQL would read the texts of all.
  const statement = `SELECT chunk_id FROM chunks WHERE ${where} ORDER BY ${place.order || "uri, ordinal"} LIMIT ${MOST + 1}`;
  const rows = useRows(statement, place.where ? undefined : () => held(conditions, read(place.of), place.order), SHOWN);
  return html`
    <h1>${place.title || "Chunks"}</h1>
    <${Sql}>${statement}<//>
    <${Answer} of=${rows} what="Finding chunks">${(found) => found.length === 0
      ? html`<${Empty} title="No chunk matches">The store may have changed since this link was made.<//>`
      : html`<p class="told" role="status">${found.length > MOST ? `The first ${MOST}` : plural(found.length, "chunk")}</p>
        <ol class="hits">${inOrder(found.slice(0, MOST), place.by).map((row) => html`<${One} key=${row.chunk_id} row=${row} />`)}</ol>`}<//>
  `;
}

const inOrder = (rows, by) => (by === TEXT ? [...rows].sort((one, other) => one.text.localeCompare(other.text) || one.uri.localeCompare(other.uri)) : rows);

/** Return the chunks of a report that meet a condition. */
async function held(conditions, ofDocuments, order) {
  const those = new Set((await documents(ofDocuments)).map((row) => row.uri));
  const found = (await chunks()).filter((row) => those.has(row.uri) && holds(conditions, row));
  if (order === LONGEST) found.sort((one, other) => other.tokens - one.tokens);
  return found.slice(0, MOST + 1).map((row) => ({ ...row, text: row.text.slice(0, SHOWN), cut: row.text.length > SHOWN }));
}

const One = ({ row }) => html`
  <li class="hit">
    <h3><${ToDocument} uri=${row.uri} chunk=${row.chunk_id}>${row.uri} #${row.ordinal}<//> <${Type} of=${row.content_type} />
      <small>${row.strategy}, ${plural(row.tokens, "token")}${row.page != null ? `, page ${row.page}` : ""}</small></h3>
    <${Drawn} text=${useKeys(row)} own=${row.text} type=${row.content_type} context=${row.context} cut=${row.cut} />
  </li>
`;
