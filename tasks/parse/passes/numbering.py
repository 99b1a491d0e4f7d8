"""Numbering: the number of an item or heading, and how it is written, in every format."""

_ROMAN = ((100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_LETTERS = 26  # after "z" browsers continue with "aa", which people do not use, so such items have digits
_MAX_ROMAN = 399  # the table has no sign for 400 and above, and no real list is that long


def numbered(value: int, style: str) -> str:
    """Return a number in the HTML `style` "a", "A", "i" or "I", or in digits for any other style."""
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


class OpenLists:
    """The open lists around the next block: for each, the next number if it has numbers, its style, form and step."""

    def __init__(self) -> None:
        self._lists: list[tuple[int | None, str, str, int]] = []

    def __len__(self) -> int:
        return len(self._lists)

    def begin(self, first: int | None = None, style: str = "", form: str = "{}.", step: int = 1) -> None:
        """Begin a list within the open ones, whose numbers rise by `step`."""
        self._lists.append((first, style, form, step))

    def end(self) -> None:
        """End the innermost list."""
        del self._lists[-1:]

    def marker(self, stated: int = 0) -> str:
        """Return the marker of the next item: its number, which it may state itself, or a dash."""
        number, style, form, step = self._lists[-1] if self._lists else (None, "", "", 1)
        if number is None:
            return "-"
        number = stated or number
        self._lists[-1] = (number + step, style, form, step)
        return form.format(numbered(number, style))


class LevelNumbers(dict[int, int]):
    """The last number of each level; levels below it start again after it."""

    def count(self, level: int, first: int = 1, restarts: bool = False) -> int:
        """Count an item at a level and return its number; it is the first if none came before or if it restarts."""
        number = first if restarts or level not in self else self[level] + 1
        self[level] = number
        for deeper in [one for one in self if one > level]:
            del self[deeper]
        return number
