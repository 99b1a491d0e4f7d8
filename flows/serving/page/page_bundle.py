"""Page bundle: the scripts of the page as one file. A page that is opened from disk may not load modules."""

import json
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from docmill.flows.serving.page.page_files import FOLDER

ENTRY = "main.js"
"""The module that draws the page."""
_IMPORT = re.compile(r'^import \{ ?(?P<names>[^}]*?) ?\} from "\./(?P<path>[\w./-]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?P<kind>const|class|function|async function) (?P<name>\w+)", re.MULTILINE)
_EXPORTS_AS = re.compile(r"export\{(?P<names>[^}]*)\};?\s*\Z")
"""The three forms of import and export that the page's modules use; `_check` refuses others."""
_QUESTIONS = re.compile(r"^export const QUESTIONS = (\{.*?^\});", re.MULTILINE | re.DOTALL)


def questions() -> dict[str, str]:
    """Return the statements of `questions.js` by name."""
    found = _QUESTIONS.search((FOLDER / "questions.js").read_text("utf-8"))
    assert found, "questions.js has no QUESTIONS"
    return {name: "\n".join(lines) for name, lines in json.loads(found.group(1)).items()}


def bundle(folder: Path = FOLDER) -> str:
    """Return one script that does what the modules of the page do: each is a function, called in order.

    Raises:
        ValueError: A module imports or exports in a way that this does not know.
    """
    modules = "\n".join(_as_function(name, folder) for name in _in_order(folder))
    return f'"use strict";\n(() => {{\nconst modules = {{}};\n{modules}\n}})();\n'


def _in_order(folder: Path) -> Iterator[str]:
    """Yield the modules that the page needs, each after those that it imports."""
    graph: dict[str, set[str]] = {}
    waiting = [ENTRY]
    while waiting:
        name = waiting.pop()
        if name not in graph:
            graph[name] = {one["path"] for one in _IMPORT.finditer((folder / name).read_text("utf-8"))}
            waiting += graph[name]
    yield from TopologicalSorter(graph).static_order()


def _as_function(name: str, folder: Path) -> str:
    text = (folder / name).read_text("utf-8")
    exported = [one["name"] for one in _EXPORT.finditer(text)]
    text = _IMPORT.sub(_taken, text)
    text = _EXPORT.sub(lambda one: f"{one['kind']} {one['name']}", text)
    if last := _EXPORTS_AS.search(text):
        exported += [_renamed(one) for one in last["names"].split(",")]
        text = text[: last.start()]
    _check(name, text)
    return f"modules[{json.dumps(name)}] = (() => {{\n{text}\nreturn {{ {', '.join(exported)} }};\n}})();"


def _taken(found: re.Match[str]) -> str:
    names = found["names"].replace(" as ", ": ")
    return f"const {{ {names} }} = modules[{json.dumps(found['path'])}];"


def _renamed(export: str) -> str:
    """Return `html: fe` for `fe as html`."""
    inner, _, outer = export.partition(" as ")
    return f"{outer}: {inner}" if outer else inner


def _check(name: str, text: str) -> None:
    if odd := re.search(r"^(import|export)\b.*", text, re.MULTILINE):
        raise ValueError(f"{name}: the report cannot take this line over: {odd.group()}")
