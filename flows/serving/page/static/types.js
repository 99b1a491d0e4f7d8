// Types: one colour for each content type, everywhere. The colours stand in page.css; a name always stands with them.
export const TYPES = [
  "code", "structured", "narrative", "technical", "faq", "chat", "email", "table", "slides", "legal", "log", "data",
  "reference", "transcript",
];

/** Return the name of the colour of a content type; an unknown one, such as a plugin's, is grey. */
export const colour = (type) => `var(--type-${TYPES.includes(type) ? type : "other"})`;
