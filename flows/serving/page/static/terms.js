// Terms: the terms of docmill, explained where the user first meets them.
import { html, useState } from "./vendor/preact-htm.js";

export const MEANINGS = {
  snapshot: "One state of the store, with a number. A run that changes something makes the next one; older ones stay for a time.",
  chunk: "A piece of a document that is searched and shown as one hit. Its text is exactly that of the document.",
  vector: "How near the meanings of question and chunk are, by the embedding model: a cosine, 1 at most.",
  keyword: "How well the words of the question fit, by BM25. The bar compares the hits of this list.",
  context: "Text that says where a chunk comes from, such as title and headings. It is searched with the chunk and is no part of the document.",
  region: "A run of a document of one content type, such as prose, a table or code. Each has its own way to be split.",
  strategy: "The way in which a region was split into chunks.",
  tokens: "The pieces of words that the embedding model counts; it reads only so many at once.",
  span: "Where the chunk is in the text of the document: characters from 0, the end not included.",
  parent: "A larger chunk that contains this one.",
  hybrid: "Both rankings merged: by meaning and by words.",
  similarity: "The cosine of the angle between two vectors: 1 for the same meaning, about 0 for texts that have nothing in common.",
  type: "What a text is, such as prose, a table or code. It is detected from the content and decides how the text is split.",
  confidence: "How likely the best hit answers, from 0 to 1. Below 0.2 a query counts as not answered.",
  disputed: "Another person contradicts this judgement.",
  weight: "How much the ranking by meaning counts against that by words, from 0 to 1.",
  cover: "How much the words of a document's title, name and headings count.",
  spread: "How much of the scores of its neighbours a chunk gets.",
  lift: "How much the score of the whole document adds to that of a chunk.",
  gaps: "Documents beside files that could not be read, documents that were read with losses, and those kept from an older version.",
  twice: "Chunks whose text is in several places.",
  since: "Since which snapshot the chunk is there.",
};

/** A term of docmill, which shows its meaning when pressed. */
export function Term({ of, children }) {
  const [open, show] = useState(false);
  return html`<button type="button" class="term" title=${MEANINGS[of]} aria-expanded=${open} onClick=${() => show(!open)}>${children ?? of}</button>
    ${open && html`<span class="meaning" role="note">${MEANINGS[of]}</span>`}`;
}
