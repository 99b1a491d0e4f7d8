// Types: the description and colour of each content type. The colours are in page.css and always shown with a name.
export const TYPES = {
  code: "Source code, or a text that is little else.",
  structured: "Prose that headings, lists and tables order, such as a handbook.",
  narrative: "Running prose, such as a story, a report or an essay; the type of a text without any sign.",
  technical: "Prose about software, with code, names and paths in it.",
  faq: "Questions, each with its answer.",
  chat: "Turns of a dialogue with a speaker and, mostly, a time.",
  email: "A mail with its headers, or a box of mails.",
  table: "Rows and columns.",
  slides: "A presentation, or short texts between rules.",
  legal: "A contract, licence, policy or law.",
  log: "Entries of a log.",
  data: "Fields with values: configuration, records of JSON or XML.",
  reference: "Signatures with their parameters, as in the reference of an API.",
  transcript: "What was said, by speakers or as cues of subtitles.",
};

/** Return the name of a content type's colour. An unknown type, such as a plugin's, is grey. */
export const colour = (type) => `var(--type-${TYPES[type] ? type : "other"})`;
