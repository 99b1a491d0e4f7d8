"""Caption labels: the words and the number with which the caption of a table or figure begins."""

import re

_LABEL = re.compile(
    r"[*_]{0,3}(?i:table|figure|fig\.|tab\.|tabelle|abbildung|abb\.|tableau|tabl[ae]|tabela|tabella|figura|\u8868|\u56fe|\u56f3)"
    r"\s*(?:[A-Z]{0,2}[.-]?\d|[IVX]+\b)"
)
_OF_TABLE = re.compile(r"[*_]{0,3}(?i:tab|\u8868)")
LONGEST = 200  # characters; a longer paragraph that begins with "Table 3" is prose about that table


def is_caption(text: str) -> bool:
    """Return whether a block is short and labelled like a caption of a numbered table or figure."""
    return len(text) <= LONGEST and _LABEL.match(text) is not None


def names_table(text: str) -> bool:
    """Return whether a caption is a table's."""
    return _OF_TABLE.match(text) is not None
