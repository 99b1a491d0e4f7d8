"""pdfium calls: its functions bound to plain addresses and numbers, five times as fast as pypdfium2's own bindings;
and places: the map from a page's own coordinates to points from its top left.

Reading one page takes thousands of calls, so their cost dominates.
"""

import ctypes
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import chain, compress, pairwise, repeat
from math import hypot, isfinite
from typing import Any, TypeVar
from unicodedata import normalize

from docmill.tasks.parse.canvas import Box

Place = tuple[float, float, float, float, float, float]  # the affine map (a, b, c, d, e, f)
Span = tuple[int, int]  # the first and the last of some characters of the page, by their index in pdfium

T = TypeVar("T")

FAR = 1e5  # points: seven times the longest page that Acrobat makes; anything beyond is a mistake or an attack
_SIDES = 4  # of a box: left, top, right, bottom


def placed(boxes: list[Box], place: Place) -> list[Box]:
    """Return boxes on the page as (left, top, right, bottom); their sides may come in any order.

    All numbers are limited to `FAR`, as by `near`.
    """
    a, b, c, d, e, f = place
    if b or c or not _is_ordinary(place):
        return [_placed(box, place) for box in boxes]
    found = []
    for one, two, other_one, other_two in boxes:
        left, top, right, bottom = one * a + e, two * d + f, other_one * a + e, other_two * d + f
        if left > right:
            left, right = right, left
        found.append((left, top, right, bottom) if top < bottom else (left, bottom, right, top))
    return found


def around_pairs(sides: list[float], place: Place) -> list[Box]:
    """Return the box on the page around each pair of boxes; `sides` is a flat list of left, top, right and bottom.

    Hot: nearly all pages are neither turned nor mirrored, and for them one pass is enough.
    """
    a, _, _, d, e, f = place
    each = iter(sides)
    if not is_upright(place):
        boxes = [*zip(each, each, each, each, strict=True)]
        return [*map(around, placed(boxes[::2], place), placed(boxes[1::2], place))]
    pairs = zip(*[each] * (2 * _SIDES), strict=True)
    return [
        (
            (left if left < other_left else other_left) * a + e,
            (top if top > other_top else other_top) * d + f,
            (right if right > other_right else other_right) * a + e,
            (bottom if bottom < other_bottom else other_bottom) * d + f,
        )
        for left, top, right, bottom, other_left, other_top, other_right, other_bottom in pairs
    ]


def placed_sides(sides: Sequence[float], place: Place) -> list[float]:
    """Return the sides of boxes on the page, as a flat list."""
    each = iter(sides)
    return [*chain.from_iterable(placed([*zip(each, each, each, each, strict=True)], place))]


def around(one: Box, other: Box) -> Box:
    """Return the smallest box around two boxes."""
    (left, top, right, bottom), (other_left, other_top, other_right, other_bottom) = one, other
    return (min(left, other_left), min(top, other_top), max(right, other_right), max(bottom, other_bottom))


def around_all(boxes: list[Box]) -> Box:
    """Return the smallest box around one or more boxes."""
    if len(boxes) == 1:
        return boxes[0]
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return (min(lefts), min(tops), max(rights), max(bottoms))


def tenths(points: float) -> float:
    """Return a length rounded to a tenth of a point."""
    return round(10 * points) / 10  # several times faster than round(points, 1), which rounds decimally


@lru_cache(maxsize=8)  # hot: called several times a page, and most pages share the place of the previous one
def is_upright(place: Place) -> bool:
    """Return whether a page is neither turned nor mirrored: x grows to the right, y upwards."""
    a, b, c, d, *_ = place
    return a >= 0 and d <= 0 and not b and not c and _is_ordinary(place)


def _is_ordinary(place: Place) -> bool:
    return max(place) < FAR and min(place) > -FAR and isfinite(sum(place))


def _placed(box: Box, place: Place) -> Box:
    a, b, c, d, e, f = place
    x = [near(box[side] * a + box[side + 1] * c + e) for side in (0, 2)]
    y = [near(box[side] * b + box[side + 1] * d + f) for side in (0, 2)]
    return (min(x), min(y), max(x), max(y))


def near(number: float) -> float:
    """Return a number limited to `FAR`; 0 if it is infinite or NaN."""
    return max(-FAR, min(number, FAR)) if isfinite(number) else 0.0


def grouped(items: Iterable[T], goes_on: Callable[[list[T], T], bool]) -> list[list[T]]:
    """Return items in groups: an item joins the group before it where `goes_on(group, item)`."""
    groups: list[list[T]] = []
    for item in items:
        if groups and goes_on(groups[-1], item):
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def merged_spans(spans: Iterable[tuple[float, ...]]) -> list[tuple[float, float]]:
    """Return spans from left to right, with overlapping ones merged."""
    found: list[tuple[float, float]] = []
    for left, right in sorted(spans):
        if found and left < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], right))
        else:
            found.append((left, right))
    return found


def spans_over(span: tuple[float, ...], spans: Sequence[tuple[float, float]]) -> list[int]:
    """Return the indexes of the spans that overlap a given one."""
    first, last = span
    return [at for at, (left, right) in enumerate(spans) if first < right and left < last]


_ROWS = 1_024  # results kept in memory at once: enough for a page's lines, with few references to make
_TEXT_BYTES = 512  # long enough for nearly all metadata; longer texts take a second call
_END = 2  # bytes of the zero that ends a text in UTF-16
_HIGH, _LOW, _SURROGATES = range(0xD800, 0xDC00), range(0xDC00, 0xE000), range(0xD800, 0xE000)
_REPLACEMENT = 0xFFFD  # replaces a code that is no character
NOTHING = "\u2060"  # an invisible sign, which replaces the second half of a surrogate pair
_POINTER, _INT, _DOUBLE = ctypes.c_void_p, ctypes.c_int, ctypes.c_double

# Each function's result, then its arguments; names as in pdfium's fpdf_text.h, fpdf_edit.h, fpdf_annot.h, ....
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "FPDF_GetPageWidthF": (ctypes.c_float, _POINTER),
    "FPDF_GetPageHeightF": (ctypes.c_float, _POINTER),
    "FPDF_PageToDevice": (_INT, _POINTER, *[_INT] * 5, _DOUBLE, _DOUBLE, _POINTER, _POINTER),
    "FPDFCatalog_GetLanguage": (ctypes.c_ulong, _POINTER, _POINTER, ctypes.c_ulong),
    "FPDF_GetMetaText": (ctypes.c_ulong, _POINTER, ctypes.c_char_p, _POINTER, ctypes.c_ulong),
    "FPDFText_LoadPage": (_POINTER, _POINTER),
    "FPDFText_ClosePage": (None, _POINTER),
    "FPDFText_CountChars": (_INT, _POINTER),
    "FPDFText_GetText": (_INT, _POINTER, _INT, _INT, _POINTER),
    "FPDFText_GetCharIndexAtPos": (_INT, _POINTER, *[_DOUBLE] * 4),
    "FPDFText_CountRects": (_INT, _POINTER, _INT, _INT),
    "FPDFText_GetBoundedText": (_INT, _POINTER, _DOUBLE, _DOUBLE, _DOUBLE, _DOUBLE, _POINTER, _INT),
    "FPDFFont_GetBaseFontName": (ctypes.c_size_t, _POINTER, _POINTER, ctypes.c_size_t),
    "FPDFFont_GetFlags": (_INT, _POINTER),
    "FPDFFont_GetDescent": (_INT, _POINTER, ctypes.c_float, _POINTER),
    "FPDFFont_GetWeight": (_INT, _POINTER),
    "FPDFPage_CountObjects": (_INT, _POINTER),
    "FPDFFormObj_CountObjects": (_INT, _POINTER),
    "FPDFFormObj_GetObject": (_POINTER, _POINTER, ctypes.c_ulong),
    "FPDFPageObj_GetMatrix": (_INT, _POINTER, _POINTER),
    "FPDFPath_GetDrawMode": (_INT, _POINTER, _POINTER, _POINTER),
    "FPDFPath_CountSegments": (_INT, _POINTER),
    "FPDFPath_GetPathSegment": (_POINTER, _POINTER, _INT),
    "FPDFPathSegment_GetPoint": (_INT, _POINTER, _POINTER, _POINTER),
    "FPDFPathSegment_GetType": (_INT, _POINTER),
    "FPDFPathSegment_GetClose": (_INT, _POINTER),
    "FPDFLink_Enumerate": (_INT, _POINTER, _POINTER, _POINTER),
    "FPDFLink_GetAction": (_POINTER, _POINTER),
    "FPDFLink_GetAnnotRect": (_INT, _POINTER, _POINTER),
    "FPDFPage_GetAnnotCount": (_INT, _POINTER),
    "FPDFPage_GetAnnot": (_POINTER, _POINTER, _INT),
    "FPDFPage_CloseAnnot": (None, _POINTER),
    "FPDFAnnot_GetSubtype": (_INT, _POINTER),
    "FPDFAnnot_GetFlags": (_INT, _POINTER),
    "FPDFAnnot_GetRect": (_INT, _POINTER, _POINTER),
    "FPDFAnnot_GetStringValue": (ctypes.c_ulong, _POINTER, ctypes.c_char_p, _POINTER, ctypes.c_ulong),
    "FPDFAnnot_GetFormFieldFlags": (_INT, _POINTER, _POINTER),
    "FPDFAnnot_GetFormFieldType": (_INT, _POINTER, _POINTER),
    "FPDFAnnot_GetFormFieldValue": (ctypes.c_ulong, _POINTER, _POINTER, _POINTER, ctypes.c_ulong),
    "FPDFAction_GetType": (ctypes.c_ulong, _POINTER),
    "FPDFAction_GetURIPath": (ctypes.c_ulong, _POINTER, _POINTER, _POINTER, ctypes.c_ulong),
}


class Handle(ctypes.c_void_p):
    """An address that pdfium returned, to pass back to it."""


# Each function's result. Arguments are not converted, which saves half the cost of a call: numbers are C ints, and
# pointers must be handles or references, never numbers.
_OFTEN: dict[str, Any] = {
    "FPDFText_GetUnicode": ctypes.c_uint,
    "FPDFText_GetLooseCharBox": _INT,
    "FPDFText_GetMatrix": _INT,
    "FPDFText_GetCharOrigin": _INT,
    "FPDFText_GetFontSize": _DOUBLE,
    "FPDFText_GetTextObject": Handle,
    "FPDFText_IsGenerated": _INT,
    "FPDFText_GetRect": _INT,
    "FPDFText_GetCharBox": _INT,
    "FPDFTextObj_GetFont": _POINTER,
    "FPDFPage_GetObject": Handle,
    "FPDFPageObj_GetType": _INT,
    "FPDFPageObj_GetBounds": _INT,
}
# The type of the numbers that a function writes, how many, and how many pointers it takes for them.
_GIVEN: dict[str, tuple[Any, int, int]] = {
    "FPDFText_GetLooseCharBox": (ctypes.c_float, 4, 1),
    "FPDFText_GetRect": (_DOUBLE, 4, 4),
    "FPDFText_GetCharBox": (_DOUBLE, 4, 4),
    "FPDFPageObj_GetBounds": (ctypes.c_float, 4, 4),
    "FPDFText_GetMatrix": (ctypes.c_float, 6, 1),
}


@cache
def calls() -> dict[str, Any]:
    """Return pdfium's functions by name; arguments are addresses and numbers; a null pointer is returned as None."""
    import pypdfium2.raw as pdfium

    places = {name: ctypes.cast(getattr(pdfium, name), _POINTER).value or 0 for name in [*_SIGNATURES, *_OFTEN]}
    checked = {name: ctypes.PYFUNCTYPE(*signature)(places[name]) for name, signature in _SIGNATURES.items()}
    return checked | {name: ctypes.PYFUNCTYPE(result)(places[name]) for name, result in _OFTEN.items()}


def reference(place: int) -> Any:
    """Return an address for the functions that convert no arguments; slightly faster than a `Handle`."""
    return _POINTER.from_param(place)


def address(handle: Any) -> int:
    """Return the address that a handle of pypdfium2's points to."""
    return ctypes.addressof(handle.raw.contents)


MOST_OBJECTS = 30_000  # objects of a page to examine: a map has more, and its first ones show its extent


def objects_of(page: int) -> tuple[list[Handle], list[int]]:
    """Return the first objects that a page draws, without those in forms, and the kind of each."""
    ask = calls()
    count = min(ask["FPDFPage_CountObjects"](page), MOST_OBJECTS)
    found = [*map(ask["FPDFPage_GetObject"], repeat(reference(page)), range(count))]
    return found, [*map(ask["FPDFPageObj_GetType"], found)]


class OpenPage:
    """An open page of pypdfium2, its address, and its objects, which are read once."""

    def __init__(self, opened: Any) -> None:
        self.opened = opened
        self.address = address(opened)

    @cached_property
    def objects(self) -> tuple[list[Handle], list[int]]:
        """Return the page's first objects and their kinds, as `objects_of`."""
        return objects_of(self.address)

    def object_at(self, handle: Handle) -> Any:
        """Return an object of the page as an object of pypdfium2."""
        import pypdfium2
        import pypdfium2.raw as pdfium

        return pypdfium2.PdfObject(ctypes.cast(handle, pdfium.FPDF_PAGEOBJECT), page=self.opened)

    def of_kind(self, kind: int) -> list[Handle]:
        """Return the page's objects of one kind."""
        objects, kinds = self.objects
        return [*compress(objects, map(kind.__eq__, kinds))] if kind in kinds else []


def objects_in(form: Handle, most: int = MOST_OBJECTS) -> tuple[list[Handle], list[int]]:
    """Return the first objects that a form draws, and the kind of each."""
    ask = calls()
    count = min(max(ask["FPDFFormObj_CountObjects"](form), 0), most)
    found = [Handle(one) for one in map(ask["FPDFFormObj_GetObject"], repeat(form), range(count)) if one]
    return found, [*map(ask["FPDFPageObj_GetType"], found)]


def text_from(name: str, *of: Any) -> str:
    """Return the UTF-16 text that a function writes, of any length; "" if it writes nothing."""
    ask = calls()[name]
    buffer = ctypes.create_string_buffer(_TEXT_BYTES)
    written = ask(*of, ctypes.addressof(buffer), _TEXT_BYTES)
    if written > _TEXT_BYTES:
        buffer = ctypes.create_string_buffer(written)
        ask(*of, ctypes.addressof(buffer), written)
    return buffer.raw[: max(written - _END, 0)].decode("utf-16-le", "replace")


def page_text(page: int) -> str:
    """Return the text of a page; pdfium's index of a character is its index in this text."""
    count = calls()["FPDFText_CountChars"](page)
    if count <= 0:
        return ""
    buffer = bytearray(2 * count + _END)
    written = calls()["FPDFText_GetText"](page, 0, count, ctypes.addressof(ctypes.c_char.from_buffer(buffer)))
    text = buffer[: max(2 * written - _END, 0)].decode("utf-16-le", "replace")
    if len(text) == count:
        return text
    return text_of([*map(calls()["FPDFText_GetUnicode"], repeat(reference(page)), range(count))])


def text_of(codes: list[int]) -> str:
    """Return the text of pdfium's characters, at the same indexes; letters of formulas become ordinary ones."""
    if max(codes) < _SURROGATES[0]:
        return "".join(map(chr, codes))
    for at, (one, other) in enumerate(pairwise([*codes])):
        if one in _HIGH and other in _LOW:  # a surrogate pair: one character, to which pdfium gives two indexes
            whole = bytes((one & 0xFF, one >> 8, other & 0xFF, other >> 8)).decode("utf-16-le")
            codes[at : at + 2] = ord(normalize("NFKC", whole)[0]), ord(NOTHING)
    return "".join(map(chr, (_REPLACEMENT if code > sys.maxunicode or code in _SURROGATES else code for code in codes)))


def boxes_from(name: str, items: Sequence[Any], *first: Any) -> list[Box]:
    """Return the box that a function returns for each item, after its first arguments; see `numbers_from`."""
    each = iter(numbers_from(name, items, *first))
    return [*zip(each, each, each, each, strict=True)]


def numbers_from(name: str, items: Sequence[Any], *first: Any) -> list[float]:
    """Return the numbers that a function returns for each item, after its first arguments, as a flat list.

    They are finite and within `FAR`; zeros if the function fails.
    """
    call, width, numbers, zeros, places = _rows(name)
    found: list[float] = []
    for start in range(0, len(items), _ROWS):
        some = items[start : start + _ROWS]
        given = numbers[: width * len(some)]
        given[:] = zeros[: len(given)]
        deque(map(call, *map(repeat, first), some, *places), maxlen=0)
        found += given.tolist()
    # One norm of all is quicker than testing each, and it is nearly always below the limit.
    return found if hypot(*found) < FAR else [near(number) for number in found]


@cache
def _rows(name: str) -> tuple[Any, int, memoryview, memoryview, list[list[Any]]]:
    """Return a function, how many numbers it returns, memory for them, as many zeros, and references into the memory.

    The references point to the start of each row or number. The memory is allocated once, and pdfium refills it on each
    call.
    """
    kind, width, results = _GIVEN[name]
    size = ctypes.sizeof(kind)
    cells = (kind * (width * _ROWS))()
    places = [[ctypes.byref(cells, size * (width * row + place)) for row in range(_ROWS)] for place in range(results)]
    numbers = memoryview(cells).cast("B").cast(kind._type_)
    return calls()[name], width, numbers, memoryview(bytes(numbers.nbytes)).cast(kind._type_), places
