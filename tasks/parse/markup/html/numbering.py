"""Numbering: the number of a list's item as its list writes it."""

_ROMAN = ((100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_LETTERS = 26  # after "z" browsers go on with "aa", which people do not count with: such items have digits
_MAX_ROMAN = 399  # the table has no sign for 400 and above, and a list that long is not counted so


def numbered(value: int, style: str) -> str:
    """Return a number in the `style` that HTML calls "a", "A", "i" or "I", in digits for any other."""
    if style in ("a", "A") and 0 < value <= _LETTERS:
        text = chr(ord("a") + value - 1)
    elif style in ("i", "I") and 0 < value <= _MAX_ROMAN:
        text = ""
        for size, letters in _ROMAN:
            text += letters * (value // size)
            value %= size
    else:
        return str(value)
    return text.upper() if style.isupper() else text
