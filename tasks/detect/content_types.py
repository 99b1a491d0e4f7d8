"""Content types: the types that a region of a document can have, and the version of their detection."""

DETECTOR_VERSION = 6
"""Part of the keys of chunks: raise it when verdicts change, so that documents are split again."""
CONTENT_TYPES = {
    "code": "Source code, or a text that is little else.",
    "structured": "Prose that headings, lists and tables order, such as a handbook.",
    "narrative": "Running prose, such as a story, a report or an essay; the type of a text without any sign.",
    "technical": "Prose about software, with code, names and paths in it.",
    "faq": "Questions, each with its answer.",
    "chat": "Turns of a dialogue with a speaker and, mostly, a time.",
    "email": "A mail with its headers, or a box of mails.",
    "table": "Rows and columns.",
    "slides": "A presentation, or short texts between rules.",
    "legal": "A contract, licence, policy or law.",
    "log": "Entries of a log.",
    "data": "Fields with values: configuration, records of JSON or XML.",
    "reference": "Signatures with their parameters, as in the reference of an API.",
    "transcript": "What was said, by speakers or as cues of subtitles.",
}
"""The content types that a region can have, each with a description."""
