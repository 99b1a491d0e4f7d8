"""Page bundle: join the scripts of the page into one file.

A page that is opened from disk may not load modules. A served page would request two dozen of them, layer by layer,
before it could draw anything.
"""

import json
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

FOLDER = Path(__file__).parent / "static"
"""The files of the page."""
ENTRY = "main.js"
"""The module that starts the page."""
_SCRIPT = '<script type="module" src="page/main.js"></script>'
_IMPORT = re.compile(r'^import \{ ?(?P<names>[^}]*?) ?\} from "\./(?P<path>[\w./-]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?P<kind>const|class|function|async function) (?P<name>\w+)", re.MULTILINE)
_EXPORTS_AS = re.compile(r"export\{(?P<names>[^}]*)\};?\s*\Z")
"""The three forms of import and export that the page's modules use; `_check` refuses others."""
_FAILED = """catch (error) {
const said = `The page could not start: ${error.message}. Reload it, or tell the person who runs docmill.`;
document.getElementById("app").textContent = said;
throw error;
}"""
_QUESTIONS = re.compile(r"^export const (?P<name>[A-Z]+) = (?P<json>\{.*?^\});", re.MULTILINE | re.DOTALL)


def questions(of: str = "QUESTIONS") -> dict[str, str]:
    """Return the statements of `questions.js` by name: those of Health, or those of another list there."""
    text = (FOLDER / "questions.js").read_text("utf-8")
    found = {one["name"]: one["json"] for one in _QUESTIONS.finditer(text)}
    return {name: "\n".join(lines) for name, lines in json.loads(found[of]).items()}


def index(script: str) -> str:
    """Return the page's HTML with one script, at `script` below the page's files, instead of the modules."""
    page = (FOLDER / "index.html").read_text("utf-8")
    return page.replace(_SCRIPT, f'<script defer src="page/{script}"></script>')


def bundle(folder: Path = FOLDER) -> str:
    """Return one script equivalent to the modules of the page: each becomes a function, called in order.

    If one of them fails, the page shows a message instead of "Loading".

    Raises:
        ValueError: A module imports something that another does not export, or uses an unsupported form.
    """
    exports: dict[str, set[str]] = {}
    modules = "\n".join(_as_function(name, folder, exports) for name in _in_order(folder))
    return f'"use strict";\ntry {{\nconst modules = {{}};\n{modules}\n}} {_FAILED}\n'


def _in_order(folder: Path) -> Iterator[str]:
    """Yield the modules that the page needs, each after the modules that it imports."""
    graph: dict[str, set[str]] = {}
    waiting = [ENTRY]
    while waiting:
        name = waiting.pop()
        if name not in graph:
            graph[name] = {one["path"] for one in _IMPORT.finditer((folder / name).read_text("utf-8"))}
            waiting += graph[name]
    yield from TopologicalSorter(graph).static_order()


def _as_function(name: str, folder: Path, exports: dict[str, set[str]]) -> str:
    """Return a module as a function that returns its exports, and add their names to `exports`."""
    text = (folder / name).read_text("utf-8")
    for one in _IMPORT.finditer(text):
        wanted = {each.partition(" as ")[0].strip() for each in one["names"].split(",") if each.strip()}
        if missing := wanted - exports[one["path"]]:
            raise ValueError(f"{name}: {one['path']} exports no {', '.join(sorted(missing))}")
    exported = [one["name"] for one in _EXPORT.finditer(text)]
    text = _IMPORT.sub(_taken, text)
    text = _EXPORT.sub(lambda one: f"{one['kind']} {one['name']}", text)
    if last := _EXPORTS_AS.search(text):
        exported += [_renamed(one) for one in last["names"].split(",")]
        text = text[: last.start()]
    _check(name, text)
    exports[name] = {one.partition(":")[0] for one in exported}
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
