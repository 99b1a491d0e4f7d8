"""Tuned settings: write the result of a tuning as TOML, or merge it into a docmill.toml without losing comments."""

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from docmill.storage.errors import ConfigError, QueryError

if TYPE_CHECKING:
    from docmill.flows.config.settings import RouteRule
    from docmill.flows.measure.trials import Tuning

BEGIN = "# Found by docmill tune; it replaces the lines from here to the end of this part."
END = "# End of what docmill tune found."
_PART = re.compile(rf"\n*{re.escape(BEGIN)}.*?{re.escape(END)}\n?", re.DOTALL)


def as_toml(tuning: "Tuning") -> str:
    """Return the settings that beat those in use, as TOML; "" if there are none."""
    return "\n".join([*_scalars(tuning), *_routes(tuning)])


def _scalars(tuning: "Tuning") -> Iterator[str]:
    for (section, key), value in chosen(tuning).items():
        yield f"[{section}]\n{key} = {json.dumps(value)}\n"


def _routes(tuning: "Tuning", rules: "Sequence[RouteRule] | None" = None) -> Iterator[str]:
    for rule in tuning.routes if rules is None else rules:
        options = ", ".join(f"{name} = {json.dumps(value)}" for name, value in rule.options.items())
        given = f"options = {{ {options} }}\n" if options else ""
        given += f'contextualizer = "{rule.contextualizer}"\n' if rule.contextualizer else ""
        yield f'[[routes]]\ntype = "{rule.type}"\nstrategy = "{rule.strategy}"\n{given}'


def chosen(tuning: "Tuning") -> dict[tuple[str, str], Any]:
    """Return the winning values of single keys, by section and name."""
    return {} if tuning.weight is None else {("search", "weight"): tuning.weight}


def fragment(tuning: "Tuning", content_type: str) -> str:
    """Return the winning setting of a content type, or for "" of all types, as TOML."""
    if not content_type:
        return "".join(_scalars(tuning))
    rules = [rule for rule in tuning.routes if rule.type == content_type]
    return "".join(_routes(tuning, rules))


def values_before(text: str, after: str) -> str:
    """Return the settings of a docmill.toml that a fragment replaces, as TOML; "" if the file has none of them."""
    (section, value), *_ = tomllib.loads(after).items()
    if section == "routes":
        return _own_block(text, value[0]["type"])
    (key,) = value
    held = tomllib.loads(text).get(section, {})
    return f"[{section}]\n{key} = {json.dumps(held[key])}\n" if key in held else ""


def reverted(text: str, before: str, after: str) -> str:
    """Return a docmill.toml with `before` in place of `after`.

    Raises `QueryError` if it does not contain `after`.
    """
    (section, value), *_ = tomllib.loads(after).items()
    if section == "routes":
        return _with_block(text, before, after, value[0]["type"])
    ((key, own),) = value.items()
    now = tomllib.loads(text).get(section, {}).get(key)
    if now != own:
        raise QueryError(f"{section}.{key} is {now!r} by now, and not the {own!r} that was learned: change it by hand")
    if before:
        return _set(text, section, key, json.dumps(tomllib.loads(before)[section][key]))
    head, tail = re.split(rf"(?<=^\[{section}\])", text, maxsplit=1, flags=re.MULTILINE)
    return head + re.sub(rf"(?m)^{key}[ \t]*=[^\n]*\n?", "", tail, count=1)


def _own_block(text: str, kind: str) -> str:
    """Return the route of a content type written by an earlier tuning."""
    part = _PART.search(text)
    blocks = re.split(r"(?=^\[\[routes\]\])", part[0] if part else "", flags=re.MULTILINE)
    found = (block.replace(END, "").strip() for block in blocks if block.startswith("[[routes]]"))
    return next((f"{block}\n" for block in found if _is_of(block, {kind})), "")


def _with_block(text: str, before: str, after: str, kind: str) -> str:
    held = _own_block(text, kind)
    if not held or tomllib.loads(held) != tomllib.loads(after):
        raise QueryError(f"the route of {kind} is another one by now than was learned: change it by hand")
    changed = text.replace(held, before, 1)
    part = _PART.search(changed)
    is_empty = part is not None and "[[routes]]" not in part[0]
    return _PART.sub("\n", changed) if is_empty else changed


def merged(text: str, tuning: "Tuning") -> str:
    """Return a docmill.toml with the result merged in and everything else unchanged.

    A single key is set on its line, or where it would be. Routes are appended in a part that the next tuning replaces,
    where they override earlier ones of the same type. Raises `ConfigError` if the result cannot be merged in this way.
    """
    # To check at the end that the edited text differs only by the result.
    before = tomllib.loads(text)
    for (section, key), value in chosen(tuning).items():
        text = _set(text, section, key, json.dumps(value))
    if tuning.routes:
        old = _PART.search(text)
        text = _PART.sub("\n", text).rstrip("\n")
        earlier = old[0].replace(BEGIN, "").replace(END, "").strip() if old else ""
        own = "\n".join(part for part in (_others(earlier, tuning), *_routes(tuning)) if part)
        text = f"{text}\n\n{BEGIN}\n{own.rstrip()}\n{END}\n"
    _check(before, text, tuning)
    return text


def _others(earlier: str, tuning: "Tuning") -> str:
    """Return the routes written by an earlier tuning for content types that this one does not change."""
    types = {rule.type for rule in tuning.routes}
    blocks = re.split(r"(?=^\[\[routes\]\])", earlier, flags=re.MULTILINE)
    return "\n".join(block.strip() + "\n" for block in blocks if block.strip() and not _is_of(block, types))


def _is_of(block: str, types: set[str]) -> bool:
    return any(rule.get("type") in types for rule in tomllib.loads(block).get("routes", []))


def _set(text: str, section: str, key: str, value: str) -> str:
    """Set a key of a table: on its line, on the line with its default as a comment, or below the table's header."""
    head = re.search(rf"^\[{section}\][^\n]*$", text, re.MULTILINE)
    if not head:
        return f"{text.rstrip()}\n\n[{section}]\n{key} = {value}\n"
    after = re.search(r"^\[", text[head.end() :], re.MULTILINE)
    end = head.end() + after.start() if after else len(text)
    body = text[head.end() : end]
    # The key itself first, else the comment with its default that `docmill init` writes, which it replaces.
    for pattern in (rf"^{key}[ \t]*=[^\n#]*?(?=[ \t]*(#|$))", rf"^#{key}[ \t]*=[^\n]*$"):
        found = re.search(pattern, body, re.MULTILINE)
        if found:
            return text[: head.end()] + body[: found.start()] + f"{key} = {value}" + body[found.end() :] + text[end:]
    return f"{text[: head.end()]}\n{key} = {value}{text[head.end() :]}"


def _check(before: dict[str, Any], text: str, tuning: "Tuning") -> None:
    """Check that the text contains the result and is otherwise unchanged."""
    try:
        after = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the result cannot be merged into the file ({error}); add it by hand") from None
    for section, key in chosen(tuning):
        for values in (before, after):
            values.setdefault(section, {}).pop(key, None)
    before.pop("routes", None)
    after.pop("routes", None)
    if {k: v for k, v in before.items() if v} != {k: v for k, v in after.items() if v}:
        raise ConfigError("the result cannot be merged without changing other settings in the file; add it by hand")
