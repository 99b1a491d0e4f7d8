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
"""The tags of the languages in Latin script that are detected."""
_BY_SCRIPT = (
    *("am", "ar", "bn", "el", "fa", "gu", "he", "hi", "hy", "ja", "ka", "km", "kn", "ko", "lo", "ml", "my", "or", "pa"),
    *("ru", "si", "ta", "te", "th", "uk", "ur", "vi", "zh"),
)
"""Languages whose words are recognised by their script, in texts of every language."""
READ_AS = {tag: language for language, tag in TAGS.items()} | dict.fromkeys(_BY_SCRIPT, "")
"""The languages that may be given for a query, by tag, with the language in which its words are read; "" is the default
language of the index."""
READ_AS |= dict.fromkeys(("nb", "nn"), "norwegian")


_MEANT = {"cn": "zh", "cz": "cs", "dk": "da", "gr": "el", "iw": "he", "jp": "ja", "kr": "ko", "se": "sv", "ua": "uk"}
"""Languages by the codes of countries that people type instead; no code is the tag of a language listed here."""


def primary_tag(tag: str) -> str:
    """Return only the language of a tag: `de` of `de-AT`, `ja` of `jp`, the code of the country."""
    primary = tag.partition("-")[0].lower()
    return _MEANT.get(primary, primary)
