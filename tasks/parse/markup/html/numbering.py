"""Numbering: a list item's number in the style of its list."""

_ROMAN = ((100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_LETTERS = 26  # after "z" browsers continue with "aa", which people do not use: such items have digits
_MAX_ROMAN = 399  # the table has no sign for 400 and above, and no real list is that long


def numbered(value: int, style: str) -> str:
    """Return a number in the HTML `style` "a", "A", "i" or "I", in digits for any other."""
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


def restart_below(last: dict[int, int], level: int) -> None:
    """Forget the last numbers of the levels below one that has just been counted: they begin anew after it."""
    for deeper in [one for one in last if one > level]:
        del last[deeper]
