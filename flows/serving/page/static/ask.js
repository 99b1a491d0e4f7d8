// Requests: ask the API of `docmill serve`, or read the files of a report.
import { useEffect, useState } from "./vendor/preact-htm.js";
import { statementOf } from "./questions.js";
import { notHeld, Refused } from "./refused.js";
import { answered, file, isReport, rowsOf } from "./report.js";
import { lasting } from "./state.js";

const TOKEN = "docmill-token";
const MOST_ROWS = 100000; // as many as the API gives
const MOST_CHARACTERS = 5000000; // likewise

/** Keep a token that the user has typed, for this tab. */
export const setToken = (token) => sessionStorage.setItem(TOKEN, token);
/** Return the token to send with each request, or null. */
export const token = () => sessionStorage.getItem(TOKEN) ?? localStorage.getItem(TOKEN);

const headersOf = (own) => own && { Authorization: `Bearer ${own}` };

/**
 * Move the token from the address that the server has printed to the storage of all tabs. It is not a cookie, because a
 * browser sends cookies to the servers on all other ports, too. A link on another site cannot replace a valid token.
 */
async function enter() {
  const [, given] = location.hash.match(/^#token=([\w.~+/=-]+)$/) ?? [];
  if (!given) return;
  history.replaceState(null, "", "#/");
  const answer = await fetch("newest", { headers: headersOf(given) }).catch(() => undefined);
  if (answer?.status === 401) return;
  localStorage.setItem(TOKEN, given);
  sessionStorage.removeItem(TOKEN);
}
const entered = isReport ? undefined : enter();

/** Ask the API, with a body by POST and without one by GET; throw `Refused` if it refuses. */
export async function ask(path, body, signal) {
  if (isReport) return answered(path, body);
  await entered;
  return answerTo(path, { method: body ? "POST" : "GET", signal, body: body && JSON.stringify(body) }, body && "application/json");
}

/** Send a piece of a file. */
export const sendPiece = (path, piece) => answerTo(path, { method: "POST", body: piece }, "application/octet-stream");

async function answerTo(path, sent, type) {
  // With the first header, the server reports refusals only in the body: a browser logs a failing status as an error.
  const headers = { "Docmill-Page": "1", ...headersOf(token()), ...(type && { "Content-Type": type }) };
  const answer = await fetch(path, { ...sent, headers }).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new Refused({ message: "The server does not answer. Is `docmill serve` still running?" });
  });
  const value = await answer.json().catch(() => ({ error: { message: `The server answered ${answer.status}.` } }));
  if (value.error) throw new Refused({ status: answer.status, ...value.error });
  return value;
}

/** Return the address of a figure's picture: data from the server, or a file of the report. */
export async function pictureOf(key, signal) {
  if (isReport) return (await file(`figure-${key}`)).source;
  await entered;
  const answer = await fetch(path(`figures/${key}`), { headers: { "Docmill-Page": "1", ...headersOf(token()) }, signal });
  if (!answer.headers.get("Content-Type")?.startsWith("image/")) throw new Refused({ message: "its picture cannot be had." });
  return URL.createObjectURL(await answer.blob());
}

/** Return a path with the store and snapshot of the address and more query values. */
export function path(where, values = {}) {
  const kept = Object.entries({ ...lasting(), ...values }).filter(([, value]) => value !== "" && value != null);
  const query = new URLSearchParams(kept).toString();
  return `${where}${query ? `?${query}` : ""}`;
}

/** Return the rows of one SELECT on the snapshot of the address, or with `texts`, the chunks that the rows name. */
async function sql(statement, signal, texts) {
  if (isReport) throw notHeld("A report runs no SQL.", "docmill sql");
  const { store, at } = lasting();
  const body = { query: statement, max_rows: MOST_ROWS, max_characters: MOST_CHARACTERS, seconds: 60 };
  return (await ask("rows", { ...body, ...(texts && { texts }), ...(store && { store }), ...(at && { at }) }, signal)).rows;
}

/** Return the path of a document with all special characters but slashes escaped. */
export const documentPath = (uri) => `documents/${uri.split("/").map(encodeURIComponent).join("/")}`;

const kept = new Map(); // answers about the snapshot in service, by question
const MOST_KEPT = 60;
let inService; // its number

/** Note which snapshot is in service. Answers from another one are requested again. */
export function noteSnapshot(number) {
  if (number !== inService) kept.clear();
  inService = number;
}
globalThis.docmill.noteSnapshot = noteSnapshot; // for a benchmark, which repeats all requests

/**
 * Use the answer to a question: { value, error, busy }. `key` names the question, and null asks nothing. The previous
 * value stays until the next one arrives, so that nothing flickers.
 */
export function useAnswer(key, question) {
  const [state, set] = useState({ key: null, busy: key !== null });
  useEffect(() => {
    if (key === null) return undefined;
    if (kept.has(key)) {
      set({ key, value: kept.get(key), busy: false });
      return undefined;
    }
    const stop = new AbortController();
    set((before) => ({ ...before, busy: true, error: undefined }));
    question(stop.signal).then(
      (value) => {
        if (stop.signal.aborted) return;
        keep(key, value);
        set({ key, value, busy: false });
      },
      (error) => stop.signal.aborted || set({ key, error, busy: false }),
    );
    return () => stop.abort();
  }, [key]);
  return state;
}

function keep(key, value) {
  kept.set(key, value);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
}

/** Use the rows of a SELECT. `inReport` returns them in a report. With `texts`, rows are chunks with that many characters. */
export function useRows(statement, inReport, texts = 0) {
  const { store, at } = lasting();
  const rows = isReport && inReport ? inReport : (signal) => sql(statement, signal, texts);
  return useAnswer(statement && `rows ${store} ${at} ${texts} ${statement}`, rows);
}

/** Use the rows of a question of questions.js. Without a name, nothing is asked. */
export const useQuestion = (name) => useRows(name && statementOf(name), () => rowsOf(name));
