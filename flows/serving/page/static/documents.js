// Documents: the list of documents, filtered by a part of the name or by a condition.
import { html, useEffect, useState } from "./vendor/preact-htm.js";
import { useRows } from "./ask.js";
import { asSql, read } from "./conditions.js";
import { Answer, Empty, Table, ToDocument, Type } from "./parts.js";
import { quoted, statementOf } from "./questions.js";
import { documents } from "./report.js";
import { go, link } from "./state.js";
import { number, plural, time } from "./words.js";

const MOST = 200; // rows of a page, as questions.js says; a browser draws them within a frame or two
const PAUSE_MS = 200;
const ORDERS = { uri: "uri", chunks: "chunks DESC, uri", changed: "mtime_ns DESC, uri", characters: "characters DESC, uri" };

export function Documents({ place, status }) {
  const [part, type] = useState(place.part ?? "");
  useEffect(() => {
    const timer = setTimeout(() => go("documents", { ...place, view: "", part }, true), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [part]);
  const order = ORDERS[place.order] ? place.order : "uri";
  const matching = [
    place.part && `(contains(lower(uri), ${quoted(place.part.toLowerCase())}) OR contains(lower(title), ${quoted(place.part.toLowerCase())}))`,
    asSql(read(place.is)),
    place.where && `(${place.where})`,
  ].filter(Boolean).join(" AND ") || "true";
  const statement = statementOf("documents").replace("WHERE true ORDER BY uri", () => `WHERE ${matching} ORDER BY ${ORDERS[order]}`);
  const rows = useRows(statement, place.where ? undefined : () => held(place, order));
  return html`
    <h1>${place.title || "Documents"}</h1>
    <form class="ask" onSubmit=${(event) => event.preventDefault()}>
      <label for="part" class="unseen">Part of the name or the title</label>
      <input id="part" type="search" value=${part} placeholder="Part of the name or the title" onInput=${(event) => type(event.target.value)} />
      <label>Order <select value=${order} onChange=${(event) => go("documents", { ...place, view: "", order: event.target.value })}>
        <option value="uri">name</option><option value="chunks">most chunks</option>
        <option value="characters">longest</option><option value="changed">newest</option>
      </select></label>
    </form>
    <${Answer} of=${rows} what="Listing documents">${(found) => html`<${Listed} rows=${found} all=${matching === "true" ? status.documents : 0} />`}<//>
  `;
}

const BEFORE = {
  uri: () => 0, // the order of the report
  chunks: (one, other) => other.chunks - one.chunks,
  changed: (one, other) => other.changed.localeCompare(one.changed),
  characters: (one, other) => other.characters - one.characters,
};

/** Return the documents of a report that match the address. */
async function held({ part = "", is }, order) {
  const wanted = part.toLowerCase();
  const found = await documents(read(is));
  return found.filter((row) => `${row.uri}\n${row.title}`.toLowerCase().includes(wanted)).sort(BEFORE[order]).slice(0, MOST + 1);
}

const Listed = ({ rows, all }) => rows.length === 0
  ? html`<${Empty} title="No document matches">Try a shorter part of its name, or see <a href=${link("health", { see: "rejects" })}>what could not be read</a>.<//>`
  : html`
    <p class="told" role="status">${rows.length > MOST ? `The first ${MOST}${all ? ` of ${number(all)}` : ""}. Type a part of a name to see others.` : plural(rows.length, "document")}</p>
    <${Table} caption="Documents" rows=${rows.slice(0, MOST)} columns=${[
      { name: "Document", wide: true, of: (row) => html`<${ToDocument} uri=${row.uri} />${row.title && html`<br /><small dir="auto">${row.title}</small>`}` },
      { name: "Type", term: "type", of: (row) => html`<${Type} of=${row.content_type} />` },
      { name: "Format", of: (row) => row.format },
      { name: "Chunks", term: "chunk", right: true, of: (row) => row.chunks },
      { name: "Characters", right: true, of: (row) => row.characters },
      { name: "Changed", of: (row) => time(row.changed).slice(0, 10) },
      { name: "State", of: (row) => [row.status !== "ok" && row.status, row.warnings > 0 && plural(row.warnings, "warning")].filter(Boolean).join(", ") || "ok" },
    ]} />`;
