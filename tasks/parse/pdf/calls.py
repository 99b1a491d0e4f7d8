"""pdfium's functions bound to plain addresses and numbers: a third of the cost of pypdfium2's own bindings.

One page asks for thousands of small facts, so what a call costs is what reading a page costs.
"""

import ctypes
from functools import cache
from typing import Any

_POINTER, _INT, _DOUBLE = ctypes.c_void_p, ctypes.c_int, ctypes.c_double

# Each function's result, then its arguments; names as in pdfium's fpdf_text.h, fpdf_edit.h and fpdf_doc.h.
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "FPDFText_GetText": (_INT, _POINTER, _INT, _INT, _POINTER),
    "FPDFText_GetUnicode": (ctypes.c_uint, _POINTER, _INT),
    "FPDFText_GetLooseCharBox": (_INT, _POINTER, _INT, _POINTER),
    "FPDFText_GetCharOrigin": (_INT, _POINTER, _INT, _POINTER, _POINTER),
    "FPDFText_GetFontSize": (_DOUBLE, _POINTER, _INT),
    "FPDFText_GetTextObject": (_POINTER, _POINTER, _INT),
    "FPDFText_CountRects": (_INT, _POINTER, _INT, _INT),
    "FPDFText_GetRect": (_INT, _POINTER, _INT, _POINTER, _POINTER, _POINTER, _POINTER),
    "FPDFText_GetBoundedText": (_INT, _POINTER, _DOUBLE, _DOUBLE, _DOUBLE, _DOUBLE, _POINTER, _INT),
    "FPDFTextObj_GetFont": (_POINTER, _POINTER),
    "FPDFFont_GetBaseFontName": (ctypes.c_size_t, _POINTER, _POINTER, ctypes.c_size_t),
    "FPDFFont_GetFlags": (_INT, _POINTER),
    "FPDFFont_GetWeight": (_INT, _POINTER),
    "FPDFPage_CountObjects": (_INT, _POINTER),
    "FPDFPage_GetObject": (_POINTER, _POINTER, _INT),
    "FPDFFormObj_CountObjects": (_INT, _POINTER),
    "FPDFFormObj_GetObject": (_POINTER, _POINTER, ctypes.c_ulong),
    "FPDFPageObj_GetType": (_INT, _POINTER),
    "FPDFPageObj_GetBounds": (_INT, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER),
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
    "FPDFAction_GetType": (ctypes.c_ulong, _POINTER),
    "FPDFAction_GetURIPath": (ctypes.c_ulong, _POINTER, _POINTER, _POINTER, ctypes.c_ulong),
}


@cache
def calls() -> dict[str, Any]:
    """Return pdfium's functions by name; arguments are addresses and numbers, a null pointer comes back as None."""
    import pypdfium2.raw as pdfium

    return {
        name: ctypes.PYFUNCTYPE(*signature)(ctypes.cast(getattr(pdfium, name), _POINTER).value or 0)
        for name, signature in _SIGNATURES.items()
    }


def address(handle: Any) -> int:
    """Return the address that a handle of pypdfium2's points to."""
    return ctypes.cast(getattr(handle, "raw", handle), _POINTER).value or 0
