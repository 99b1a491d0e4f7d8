// Conditions: which chunks or documents a link means, as SQL for a store, and as a test of a row for a report.
// A condition is a list of [column, operator, value], all of which hold; in an address it is JSON.
import { quoted } from "./questions.js";

const FOLDER = "CASE WHEN contains(uri, '/') THEN split_part(uri, '/', 1) || '/' ELSE '' END";
const DATE = "strftime(coalesce(modified, created, make_timestamp(mtime_ns // 1000) AT TIME ZONE 'UTC'), '%Y-%m-%d')";

/** Return the folder at the top of a uri, or "". */
export const folderOf = (uri) => (uri.includes("/") ? `${uri.split("/")[0]}/` : "");

/** Return the day of a document: that which it states, or that on which its file was last changed. */
export const dayOf = (row) => [row.modified, row.created, row.changed].map((one) => String(one ?? "")).find(Boolean)?.slice(0, 10) ?? "";

// Names for what is no column: the SQL of the value, and the value of a row of a report.
const VALUES = {
  children: ["len(children)", (row) => row.children],
  parts: ["len(parts)", (row) => row.parts ?? 0], // a report has no parts: what it holds of a chunk is read whole
  folder: [FOLDER, (row) => folderOf(row.uri)],
  date: [DATE, dayOf],
  year: [`left(${DATE}, 4)`, (row) => dayOf(row).slice(0, 4)],
};
const literal = (value) => (typeof value === "number" ? String(value) : quoted(value));
const OPERATORS = {
  "=": [(own, value) => `${own} = ${literal(value)}`, (own, value) => own === value || String(own) === value],
  ">=": [(own, value) => `${own} >= ${literal(value)}`, (own, value) => own >= value],
  "<=": [(own, value) => `${own} <= ${literal(value)}`, (own, value) => own <= value],
  has: [(own, value) => `list_contains(${own}, ${literal(value)})`, (own, value) => (own ?? []).includes(value)],
  in: [(own, values) => `${own} IN (${values.map(literal).join(", ")})`, (own, values) => values.includes(own)],
};

/** Return the SQL of the value that a name stands for. */
export const sqlOf = (name) => VALUES[name]?.[0] ?? name;

/** Return the value that a name stands for in a row of a report. */
export const valueOf = (name, row) => (VALUES[name] ? VALUES[name][1](row) : row[name]);

/** Return a condition as SQL, or "" for one that asks nothing. */
export const asSql = (conditions) => conditions.map(([name, operator, value]) => OPERATORS[operator][0](sqlOf(name), value)).join(" AND ");

/** Return whether a row of a report meets a condition. */
export const holds = (conditions, row) => conditions.every(([name, operator, value]) => OPERATORS[operator][1](valueOf(name, row), value));

const NAME = /^\w+$/;

/** Return the condition of an address; one that was tampered with asks nothing. */
export function read(text) {
  try {
    const found = JSON.parse(text ?? "[]");
    const known = Array.isArray(found) && found.every((one) => Array.isArray(one) && NAME.test(one[0]) && OPERATORS[one[1]]);
    return known ? found : [];
  } catch {
    return [];
  }
}
export const written = (conditions) => JSON.stringify(conditions);
