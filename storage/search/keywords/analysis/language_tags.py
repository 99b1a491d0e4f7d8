"""Language tags: the BCP 47 tags of the languages that documents and queries may be in."""

TAGS = {
    "english": "en",
    "german": "de",
    "french": "fr",
    "spanish": "es",
    "italian": "it",
    "portuguese": "pt",
    "dutch": "nl",
    "swedish": "sv",
    "danish": "da",
    "norwegian": "no",
    "finnish": "fi",
    "hungarian": "hu",
    "turkish": "tr",
    "romanian": "ro",
    "polish": "pl",
    "czech": "cs",
    "catalan": "ca",
    "indonesian": "id",
}
"""The tags of the languages of the Latin script that are told apart."""
_BY_SCRIPT = ("ar", "el", "fa", "he", "hi", "ja", "ko", "ru", "ta", "th", "uk", "ur", "zh")
"""Languages whose words are read by their letters, in texts of every language."""
READ_AS = {tag: language for language, tag in TAGS.items()} | dict.fromkeys(_BY_SCRIPT, "")
"""The languages that may be given for a query, by tag: the one in which its words are read, or "" for the language of
texts in doubt."""
READ_AS |= dict.fromkeys(("nb", "nn"), "norwegian")


def primary_tag(tag: str) -> str:
    """Return a tag without what follows the language: `de` of `de-AT`."""
    return tag.partition("-")[0].lower()
