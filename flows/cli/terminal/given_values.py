"""Given values: convert the words of a command line as typer does, but without pydantic.

typer validates each parameter with pydantic, even those not given. Loading pydantic takes 0.04 s, a tenth of a whole
search, and building a validator for each parameter of `search` another 0.01 s.
"""

import re
from collections.abc import Callable
from enum import EnumMeta
from functools import partial
from typing import Any

_TEXTS: dict[type, tuple[Any, ...]] = {str: (str,), list: (list[str],), bool: (bool,)}
"""The annotations of texts and flags by the type of the parsed value: typer's parser yields no other types."""
_COUNT = re.compile(r"[0-9]{1,9}")  # Python and pydantic read these as the same number


def take_plainly(parameters: list[Any]) -> list[Any]:
    """Let parameters accept absent and plain values without conversion; return the parameters."""
    for one in parameters:
        if not isinstance(one.process_value, partial):
            one.process_value = partial(_taken, one, one.process_value)
    return parameters


def _taken(parameter: Any, process: Callable[[Any, Any], Any], context: Any, given: Any) -> Any:
    """Return the value of a parameter as typer would convert it."""
    if given is None and not parameter.required:
        value: Any = () if parameter.multiple or parameter.nargs == -1 else None
    elif given is not None and given is parameter.default:
        value = given
    elif (value := _plain(parameter, given)) is None:
        return process(context, given)
    return parameter.callback(context, parameter, value) if parameter.callback else value


def _plain(parameter: Any, value: Any) -> Any:
    """Return a value that typer would not change or would convert to a number; None leaves it to typer."""
    described = getattr(parameter, "type_descriptor", None)
    kind = getattr(described, "annotation", None)
    if described and kind is int:
        return _count(value, described.parameter_info)
    if isinstance(kind, EnumMeta):
        return next((one for one in list[Any](kind) if one.value == value), None)
    if kind == list[str] and type(value) is tuple:  # arguments are tuples, options are lists
        return list(value)
    return value if kind in _TEXTS.get(type(value), ()) else None


def _count(value: Any, bounds: Any) -> int | None:
    """Return a number if it is within the bounds of an option."""
    if type(value) is not str or not _COUNT.fullmatch(value):
        return None
    least, most = (0 if bounds.min is None else bounds.min), (int(value) if bounds.max is None else bounds.max)
    return int(value) if least <= int(value) <= most else None
