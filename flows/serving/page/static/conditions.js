// Conditions: which chunks or documents a link selects, as SQL for a store and as a test of rows for a report.
// A condition is a list of [column, operator, value], all of which must be true. In an address it is JSON.
import { quoted } from "./questions.js";

const FOLDER = "CASE WHEN contains(uri, '/') THEN split_part(uri, '/', 1) || '/' ELSE '' END";
const DATE = "strftime(coalesce(modified, created, make_timestamp(mtime_ns // 1000) AT TIME ZONE 'UTC'), '%Y-%m-%d')";

/** Return the top folder of a uri, or "". */
export const folderOf = (uri) => (uri.includes("/") ? `${uri.split("/")[0]}/` : "");

/** Return the date of a document: the one it states, or that of the last change of its file. */
export const dayOf = (row) => [row.modified, row.created, row.changed].map((one) => String(one ?? "")).find(Boolean)?.slice(0, 10) ?? "";

// Names of values that are no columns: their SQL, and their value for a row of a report.
const VALUES = {
  children: ["len(children)", (row) => row.children],
  parts: ["len(parts)", (row) => row.parts ?? 0], // a report has no parts
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

/** Return the SQL for a named value. */
export const sqlOf = (name) => VALUES[name]?.[0] ?? name;

/** Return a named value of a row of a report. */
export const valueOf = (name, row) => (VALUES[name] ? VALUES[name][1](row) : row[name]);

/** Return a condition as SQL, or "" for an empty one. */
export const asSql = (conditions) => conditions.map(([name, operator, value]) => OPERATORS[operator][0](sqlOf(name), value)).join(" AND ");

/** Return whether a row of a report meets a condition. */
export const holds = (conditions, row) => conditions.every(([name, operator, value]) => OPERATORS[operator][1](valueOf(name, row), value));

const NAME = /^\w+$/;

/** Return the condition of an address, or an empty one if it is not valid. */
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
