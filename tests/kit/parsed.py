"""What tests look at in a parsed document."""

from docmill.storage.schema import Parsed


def found(parsed: Parsed) -> list[tuple[str, str]]:
    return [(one.kind, parsed.text[one.start_char : one.end_char]) for one in parsed.elements]


def turns(parsed: Parsed) -> list[tuple[str, str, str]]:
    return [
        (one.attributes.get("time", ""), one.attributes.get("speaker", ""), parsed.text[one.start_char : one.end_char])
        for one in parsed.elements
        if one.kind == "turn"
    ]
