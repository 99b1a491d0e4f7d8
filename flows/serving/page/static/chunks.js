// Chunks: those that a bar or a point of a picture stands for, by a condition in SQL.
import { html } from "./vendor/preact-htm.js";
import { useRows } from "./ask.js";
import { Answer, Empty, ToDocument, Type } from "./parts.js";
import { plural } from "./words.js";

const MOST = 100; // on one page; a condition that matches more is to be narrowed
const SHOWN = 600; // characters of a text

export function Chunks({ place }) {
  const statement = `SELECT chunk_id, uri, ordinal, content_type, strategy, tokens, page, left(text, ${SHOWN}) AS text,
    len(text) > ${SHOWN} AS cut FROM chunks WHERE ${place.where || "true"} ORDER BY ${place.order || "uri, ordinal"} LIMIT ${MOST + 1}`;
  const rows = useRows(statement);
  return html`
    <h1>${place.title || "Chunks"}</h1>
    <details class="sql"><summary>SQL</summary><pre>${statement}</pre></details>
    <${Answer} of=${rows} what="Finding chunks">${(found) => found.length === 0
      ? html`<${Empty} title="No chunk matches">The store may have changed since this link was made.<//>`
      : html`<p class="told" role="status">${found.length > MOST ? `The first ${MOST}` : plural(found.length, "chunk")}</p>
        <ol class="hits">${found.slice(0, MOST).map((row) => html`<${One} key=${row.chunk_id} row=${row} />`)}</ol>`}<//>
  `;
}

const One = ({ row }) => html`
  <li class="hit">
    <h3><${ToDocument} uri=${row.uri} chunk=${row.chunk_id}>${row.uri} #${row.ordinal}<//> <${Type} of=${row.content_type} />
      <small>${row.strategy}, ${plural(row.tokens, "token")}${row.page != null ? `, page ${row.page}` : ""}</small></h3>
    <p class="text" dir="auto">${row.text}${row.cut ? " …" : ""}</p>
  </li>
`;
