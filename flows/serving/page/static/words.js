// Words: which words of a text a search matched, and the format of numbers and times.

// In this order: an abbreviation with dots (U.S.A., Ph.D.), letters around a sign (AT&T, I/O), a word hyphenated at the
// end of a line, any other word.
const WORD = /(?<![\p{L}\p{N}])(?:(?:\p{L}\.)+\p{L}|(?:\p{Lu}\p{Ll}?\.)+\p{Lu}\p{Ll}?)(?![\p{L}\p{N}])|(?<![\p{L}\p{N}])[A-Za-z]{1,3}[&/][A-Za-z]{1,3}(?![\p{L}\p{N}&/])|\p{L}+[-\u00ad]\n\p{Ll}+|[\p{L}\p{N}][\p{L}\p{N}\p{M}'’_\u00ad-]*/gu;
// What the index removes from words: accents, the vowel marks of Hebrew and Arabic, and strokes (storage/search/keywords/analysis/folding.py).
const LEFT_OUT = /(?<!и)\u0306|[\u0300-\u0305\u0307-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u093c]/g;
const NASALS = /\u0901|\u0919\u094d(?=[\u0915-\u0918])|\u091e\u094d(?=[\u091a-\u091d])|\u0923\u094d(?=[\u091f-\u0922])|\u0928\u094d(?=[\u0924-\u0927])|\u092e\u094d(?=[\u092a-\u092d])/g;
const LETTERS = { ی: "ي", ى: "ي", ے: "ي", ک: "ك", ہ: "ه", ھ: "ه", ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d", þ: "th", ħ: "h", ŧ: "t", ı: "i" };
const JOINTS = /[.\-\u00ad\n]/g; // U.S.A. is "usa" in the index, and e-mail is also "email"
const ACRONYM = 3; // letters of an acronym that in lower case is a common word: IT, WHO
const SHORTEST_STEM = 4;
// The index stems words ("batteries" is "batteri"). A word matches a term if they share a beginning of at least four
// letters and differ in at most three more. Shorter words must be equal.
const LONGEST_END = 3;

// Scripts whose words the index has as runs of two or three letters, and for Chinese and Japanese as single letters, too.
const IN_RUNS = new RegExp(`[${[
  "Han Hiragana Katakana Hangul Thai Lao Khmer Myanmar Armenian Hebrew Bengali Gurmukhi Gujarati Oriya Telugu Kannada",
  "Malayalam Sinhala Tibetan Georgian Ethiopic",
].join(" ").split(" ").map((script) => `\\p{sc=${script}}`).join("")}]`, "u");
const ARTICLES = /^[وفبكل]{0,2}(?:ال|لل)(?=..)/; // prefixes of Arabic words that the index removes: "and", "in", "the"

/** Return pieces { text, lit } of a text in order, where `lit` marks words that match one of the terms. */
export function lit(text, terms) {
  const wanted = terms.map((term) => ({ folded: folded(term), capitals: isAcronym(term) })).filter((term) => term.folded);
  if (!wanted.length) return [{ text, lit: false }];
  const words = [...text.matchAll(WORD)].flatMap(({ 0: word, index }) => (IN_RUNS.test(word) ? runs(word, index, wanted)
    : [{ word, index, term: wanted.find((term) => found(word, term)) }])).filter(({ term }) => term);
  const acronyms = new Set(words.filter(({ word, term }) => term.capitals && isAcronym(word)).map(({ term }) => term));
  const pieces = [];
  let end = 0;
  for (const { word, index, term } of words) {
    if (acronyms.has(term) && !isAcronym(word)) continue; // if the query is IT, "it" is another word
    if (index > end) pieces.push({ text: text.slice(end, index), lit: false });
    pieces.push({ text: word, lit: true });
    end = index + word.length;
  }
  pieces.push({ text: text.slice(end), lit: false });
  return pieces;
}

const isAcronym = (said) => short(said.replace(JOINTS, ""));
const short = (word) => word.length > 1 && word.length <= ACRONYM && word === word.toUpperCase() && word !== word.toLowerCase();

/** Return a word in lower case without accents, strokes and vowel marks. */
export const folded = (word) =>
  word.toLowerCase().normalize("NFD").replace(LEFT_OUT, "").replace(NASALS, "\u0902").normalize("NFC").replace(/[یىےکہھßæœøłđðþħŧı]/g, (letter) => LETTERS[letter]);

/** Return the runs of letters in a word whose pairs, or single letters, a search matched. */
function runs(word, index, wanted) {
  const terms = wanted.filter(({ folded: own }) => own.length > 1 || !wanted.some((other) => other.folded.length > 1 && other.folded.includes(own)));
  const lit = Array.from({ length: word.length }, () => null);
  for (const term of terms) {
    for (let at = word.indexOf(term.folded); at >= 0; at = word.indexOf(term.folded, at + 1)) lit.fill(term, at, at + term.folded.length);
  }
  return lit.flatMap((term, at) => {
    if (!term || (at > 0 && lit[at - 1])) return [];
    const end = lit.indexOf(null, at);
    return [{ word: word.slice(at, end < 0 ? undefined : end), index: index + at, term }];
  });
}

const found = (word, term) => [folded(word), folded(word).replace(JOINTS, ""), ...bare(word)].some((one) => matches(one, term.folded));

/** Return an Arabic word with and without its article, with letters normalized as in the index. */
function bare(word) {
  if (!/^\p{sc=Arabic}/u.test(word)) return [];
  const plain = folded(word).normalize("NFD").replace(/[\u0653-\u0655]/g, "").replaceAll("ة", "ه");
  return [plain, plain.replace(ARTICLES, "")];
}

/** Return whether a folded word and a term begin alike, as forms of one word do. */
export function matches(word, term) {
  if (word === term) return true;
  const short = Math.min(word.length, term.length);
  let same = 0;
  while (same < short && word[same] === term[same]) same += 1;
  return same >= SHORTEST_STEM && same >= short - 1 && Math.max(word.length, term.length) - same <= LONGEST_END;
}

/** Return the words of a hit to highlight: those matched by the keyword ranking, or those of the question. */
export const wordsOf = (hit, asked) => {
  const acronyms = new Map((asked.match(WORD) ?? []).filter(isAcronym).map((word) => word.replace(JOINTS, "")).map((word) => [folded(word), word]));
  const terms = Object.keys(hit.terms).map((term) => acronyms.get(term) ?? term);
  return terms.length ? terms : (asked.match(WORD) ?? []).filter((word) => word.length >= SHORTEST_STEM);
};

/** Download a text as a file. */
export function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

const NUMBER = new Intl.NumberFormat("en");

export const number = (value) => NUMBER.format(value);
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;
export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

/** Return a time of the API as "2026-11-23 14:05". */
export const time = (iso) => String(iso ?? "").slice(0, 16).replace("T", " ");

/** Return a function that slices a text by offsets in code points: JavaScript counts some characters twice. */
export function slicer(text) {
  const pairs = [...text.matchAll(/[\ud800-\udbff][\udc00-\udfff]/g)].map((match, place) => match.index - place);
  const unit = (offset) => offset + below(pairs, offset);
  return (start, end) => text.slice(unit(start), unit(end));
}

/** Return how many of the sorted numbers are less than a given one. */
function below(sorted, one) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < one) low = middle + 1;
    else high = middle;
  }
  return low;
}
