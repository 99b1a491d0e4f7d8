// Words: which words of a text a search matched, and numbers and times as people read them.

const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}'’_-]*/gu;
const SHORTEST_STEM = 4;
// An index cuts the ends of words ("batteries" is "batteri"). A word matches a term if they share a beginning of at
// least four letters and differ in at most three more; shorter ones match whole.
const LONGEST_END = 3;

/** Return pieces of a text: { text, lit }, in order, where `lit` marks words that match one of the terms. */
export function lit(text, terms) {
  const wanted = terms.map((term) => term.toLowerCase()).filter(Boolean);
  if (!wanted.length) return [{ text, lit: false }];
  const pieces = [];
  let end = 0;
  for (const match of text.matchAll(WORD)) {
    if (!wanted.some((term) => matches(match[0].toLowerCase(), term))) continue;
    if (match.index > end) pieces.push({ text: text.slice(end, match.index), lit: false });
    pieces.push({ text: match[0], lit: true });
    end = match.index + match[0].length;
  }
  pieces.push({ text: text.slice(end), lit: false });
  return pieces;
}

/** Return whether a word has the beginning of a term, as forms of one word do. */
export function matches(word, term) {
  if (word === term) return true;
  const short = Math.min(word.length, term.length);
  let same = 0;
  while (same < short && word[same] === term[same]) same += 1;
  return same >= SHORTEST_STEM && same >= short - 1 && Math.max(word.length, term.length) - same <= LONGEST_END;
}

/** Return the words of a hit to light: those that the keyword ranking matched, or those of the question. */
export const wordsOf = (hit, asked) => {
  const terms = Object.keys(hit.terms);
  return terms.length ? terms : (asked.match(WORD) ?? []).filter((word) => word.length >= SHORTEST_STEM);
};

const NUMBER = new Intl.NumberFormat("en");

export const number = (value) => NUMBER.format(value);
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;
export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

/** Return a time of the API as "2026-11-23 14:05". */
export const time = (iso) => String(iso ?? "").slice(0, 16).replace("T", " ");

/** Return a function that cuts a text by offsets in code points; JavaScript counts some characters twice. */
export function slicer(text) {
  const pairs = [...text.matchAll(/[\ud800-\udbff][\udc00-\udfff]/g)].map((match, place) => match.index - place);
  const unit = (offset) => offset + below(pairs, offset);
  return (start, end) => text.slice(unit(start), unit(end));
}

/** Return how many of the sorted numbers are less than one. */
function below(sorted, one) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < one) low = middle + 1;
    else high = middle;
  }
  return low;
}
