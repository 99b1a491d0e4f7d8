// Keywords: the ranking in a report, which has no server. BM25 (Robertson and Zaragoza 2009) over the words of
// texts, contexts and headings. Words match as words.js highlights them.
import { folded, matches } from "./words.js";

const WORD = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{N}][\p{L}\p{N}\p{M}'’_-]*/gu; // single characters in scripts without spaces
const K1 = 1.2; // how soon repeated words count less; the usual value
const B = 0.75; // how much long chunks are penalized; the usual value
const OTHER_FORM = 0.5; // the weight of another form of a word, which may be a different word
const FIELDS = ["text", "context", "headings"];

const wordsOf = (text) => folded(text).match(WORD) ?? [];
const fieldsOf = (row) => [row.text, row.context, row.headings.join("\n")];

/** An index of the words of chunks. */
export class Keywords {
  constructor(rows) {
    this.rows = rows;
    this.lengths = new Float64Array(rows.length);
    this.postings = new Map(); // for each word, the chunk and field of each occurrence, with three bits for the field
    rows.forEach((row, place) => fieldsOf(row).forEach((text, field) => wordsOf(text).forEach((word) => this.add(word, place, field))));
    this.mean = this.lengths.reduce((sum, one) => sum + one, 0) / Math.max(1, rows.length) || 1;
  }

  add(word, place, field) {
    let own = this.postings.get(word);
    if (!own) this.postings.set(word, (own = []));
    own.push(place * FIELDS.length + field);
    this.lengths[place] += 1;
  }

  /** Return the hits for a query among the chunks that `allowed` accepts, best first. */
  best(query, count, allowed) {
    const found = new Map();
    for (const term of new Set(wordsOf(query))) this.score(term, found);
    return [...found].filter(([place]) => allowed(this.rows[place]))
      .sort(([one, own], [other, its]) => its.score - own.score || one - other).slice(0, count)
      .map(([place, own], rank) => hitOf(this.rows[place], own, rank + 1));
  }

  /** Add the score of a term to each chunk that contains it. */
  score(term, found) {
    const places = new Map();
    for (const [word, postings] of this.postings) {
      if (!matches(word, term)) continue;
      for (const posting of postings) {
        const place = Math.floor(posting / FIELDS.length);
        const own = places.get(place) ?? { count: 0, fields: new Set() };
        places.set(place, own);
        own.count += word === term ? 1 : OTHER_FORM;
        own.fields.add(FIELDS[posting % FIELDS.length]);
      }
    }
    const rare = Math.log(1 + (this.rows.length - places.size + 0.5) / (places.size + 0.5));
    for (const [place, { count, fields }] of places) {
      const share = (rare * count * (K1 + 1)) / (count + K1 * (1 - B + (B * this.lengths[place]) / this.mean));
      const own = found.get(place) ?? { score: 0, terms: {}, fields: {} };
      found.set(place, own);
      own.score += share;
      own.terms[term] = share;
      own.fields[term] = [...fields];
    }
  }
}

const hitOf = (row, { score, terms, fields }, rank) => ({
  ...row, rank, terms, fields, score, keyword_score: score, vector_score: null, relevance: null, also_at: [],
  steps: [{ step: "keyword", said: "the words of the question, by BM25", score }],
});
