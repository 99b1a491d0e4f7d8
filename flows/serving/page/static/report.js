// Report: the second source of answers. `docmill report` writes them beside the page as scripts, because a page opened
// from disk may load scripts but no data. Each script passes its content, JSON, to `docmill.take`.
import { holds, valueOf } from "./conditions.js";
import { Keywords } from "./keyword.js";
import { notHeld, Refused } from "./refused.js";
import { slicer } from "./words.js";

/** Whether this page is a report. */
export const isReport = document.body.dataset.report !== undefined;

const given = new Map(); // the content of each script by name
const asked = new Map(); // promises of contents by name
globalThis.docmill = { take: (name, json) => given.set(name, JSON.parse(json)) };

/** Return the content of a file of the report. */
export function file(name) {
  if (!asked.has(name)) asked.set(name, new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = `data/${name}.js`;
    script.onload = () => (given.has(name) ? done(given.get(name)) : fail(lacks(name)));
    script.onerror = () => fail(lacks(name));
    document.head.append(script);
  }));
  return asked.get(name);
}

const lacks = (name) => new Refused({ message: `The file data/${name}.js of this report is missing or damaged. Write the report again.` });

/** Answer a request to the API as `docmill serve` does, if the report contains the answer. */
export async function answered(path, body) {
  const [where, query] = path.split("?");
  for (const [pattern, answer] of PATHS) {
    const match = pattern.exec(where);
    if (match) return answer({ match, body, query: new URLSearchParams(query), about: await file("about") });
  }
  throw notHeld("A report does not hold this.");
}

const PATHS = [
  [/^newest$/, ({ about }) => ({ ...about.head, status: about.status, stores: [about.head.store] })],
  [/^snapshots$/, ({ about }) => ({ ...about.head, snapshots: about.snapshots })],
  [/^map$/, async () => unlessFailed(await file("map"))],
  [/^documents\/(.+)$/, document_],
  [/^outline$/, async ({ query, about }) => ({ ...about.head, sections: (await heldDocument(query.get("uri"))).outline })],
  [/^cuts$/, async ({ query }) => heldDocument(query.get("uri"))],
  [/^chunks\/(.+)$/, chunk],
  [/^diff\/(\d+)\/(\d+)$/, changes],
  [/^search$/, search],
];

function unlessFailed(value) {
  if (value.error) throw new Refused({ message: value.error });
  return value;
}

async function document_({ match, query, about }) {
  const uri = match[1].split("/").map(decodeURIComponent).join("/");
  const own = await heldDocument(uri);
  const { row: document, text, figures } = own;
  if (!query.get("at") || Number(query.get("at")) === about.head.snapshot) return { ...about.head, document, text, figures, start_char: 0, end_char: own.characters };
  if (own.before === null) throw new Refused({ message: `${uri} was not in that snapshot.`, status: 404 });
  return { ...about.head, document, text: own.before ?? text };
}

/** Return the report's data on a document. Throw `Refused` for one that it leaves out. */
async function heldDocument(uri) {
  const about = await file("about");
  const listed = (await file("documents")).find((row) => row.uri === uri);
  if (!listed) throw new Refused({ message: `There is no document ${uri} in this report.`, status: 404 });
  if (listed.pack === null) throw notHeld(`This report holds the texts of ${about.held} of ${about.status.documents} documents, and not that of ${uri}.`);
  return (await file(`pack-${listed.pack}`))[uri];
}

async function chunk({ match, about }) {
  const found = (await chunks()).find((row) => row.chunk_id === match[1]);
  if (!found) throw notHeld("This report leaves out the text of this chunk.");
  return { ...about.head, chunk: found };
}

async function changes({ match, about }) {
  const [, old, fresh] = match.map(Number);
  if (old !== about.before || fresh !== about.head.snapshot) throw notHeld("A report compares the two newest snapshots alone.", `docmill diff ${old} ${fresh}`);
  return unlessFailed(await file("changes"));
}

const MOST_HITS = 100; // of a question whose values are counted, as in a server

/** Return how many chunks have each value of these columns and metadata keys, for a question and conditions. */
export async function facets(names, question, conditions) {
  const { keys = {} } = await file("about");
  const rows = (await chunks()).filter((row) => holds(conditions, row));
  const best = question ? new Set((await keywords()).best(question, MOST_HITS, (row) => holds(conditions, row)).map((hit) => hit.chunk_id)) : null;
  const own = Object.keys(keys).map((key) => `metadata.${key}`);
  return { keys, hits: best ? best.size : null, rows: counted(best ? rows.filter((row) => best.has(row.chunk_id)) : rows, [...names, ...own]) };
}

/** Return the rows of a question of questions.js. */
export async function rowsOf(name) {
  const found = (await file("health"))[name];
  if (found === undefined) throw notHeld("A report runs no SQL.", "docmill sql");
  return unlessFailed(found);
}

/** Return the rows of the list of documents that match a condition. */
export const documents = async (conditions) => (await file("documents")).filter((row) => holds(conditions, row));

let all; // chunks, shared by the search, its facets and the view of chunks

/** Return the chunks of the report, each with the columns of its document. */
export function chunks() {
  all ??= (async () => {
    const rows = await file("documents");
    const packs = await Promise.all([...new Set(rows.map((row) => row.pack))].filter((pack) => pack !== null).map((pack) => file(`pack-${pack}`)));
    return rows.filter((row) => row.pack !== null).flatMap((row) => whole(packs.find((pack) => Object.hasOwn(pack, row.uri))[row.uri], row));
  })();
  return all;
}

function whole(own, row) {
  const cut = slicer(own.text);
  return own.chunks.map((one) => ({ ...row, source_url: own.row.source_url, ...one, text: cut(one.start_char, one.end_char) }));
}

function counted(rows, names) {
  return names.flatMap((facet) => {
    const counts = new Map();
    for (const row of rows) for (const value of new Set([valueOf(facet, row) ?? ""].flat())) counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
    return [...counts].map(([value, count]) => ({ facet, value, chunks: count })).filter((one) => one.value).sort((one, other) => other.chunks - one.chunks);
  });
}

let index; // of the words of all chunks

async function keywords() {
  index ??= new Keywords(await chunks());
  return index;
}

async function search({ body, about }) {
  const hits = (await keywords()).best(body.query, body.k, (row) => holds(body.conditions ?? [], row));
  return { ...about.head, query: body.query, hits, left_out: null };
}
