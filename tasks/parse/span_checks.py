"""Span checks: the invariants of the elements of every parsed document."""

from docmill.storage.schema import Element, Parsed

_KIND_WORDS = """
    title paragraph list_item table figure code quote front_matter turn question answer page_break furniture toc text
"""
KINDS = frozenset(_KIND_WORDS.split())


def faults(parsed: Parsed) -> list[str]:
    """Return the invariants that a document's elements violate; a correct parser violates none.

    Each element is inside the text and not empty. Elements are ordered by start. One either contains another or does
    not overlap it. Pages and lines never run backwards.
    """
    found: list[str] = []
    ends: list[int] = []
    start = page = line = 0
    for number, element in enumerate(parsed.elements):
        while ends and ends[-1] <= element.start_char:
            ends.pop()
        if not 0 <= element.start_char < element.end_char <= len(parsed.text):
            fault = f"outside of a text of {len(parsed.text)} characters, or empty"
        elif element.start_char < start:
            fault = f"begins before the one before it, at {start}"
        elif ends and element.end_char > ends[-1]:
            fault = f"overlaps one that ends at {ends[-1]}"
        else:
            fault = _fault(element, page, line)
        if fault:
            found.append(f"element {number}, {element.kind} [{element.start_char}, {element.end_char}): {fault}")
        start, page, line = element.start_char, element.page, element.line
        ends.append(element.end_char)
    return found


def _fault(element: Element, page: int, line: int) -> str:
    """Return what is wrong with an element behind one of such a page and line, "" if nothing is."""
    if element.page < page or element.line < line:
        return f"page {element.page} or line {element.line} after {page} and {line}"
    return "" if element.kind in KINDS else f"kind is none of {', '.join(sorted(KINDS))}"
