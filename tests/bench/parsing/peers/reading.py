"""Reads files with one tool, and writes what it says as JSON: run by the Python that the tool is installed in.

    PYTHON tests/bench/parsing/peers/reading.py TOOL FOLDER OUTPUT.json

It imports little but the tool, so that each tool may live in an environment of its own. For each file there is its
Markdown or its elements, or the error, and the CPU seconds of this process and of those that it started.
"""

import contextlib
import importlib
import io
import json
import os
import re
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Read = Callable[[str], dict[str, Any]]


def _kreuzberg() -> Read:
    tool = importlib.import_module("kreuzberg")
    config = tool.ExtractionConfig(output_format="markdown")
    return lambda path: {"markdown": tool.extract_file_sync(path, config=config).content}


def _markitdown() -> Read:
    tool = importlib.import_module("markitdown").MarkItDown()
    return lambda path: {"markdown": tool.convert(path).text_content}


def _pymupdf4llm() -> Read:
    tool = importlib.import_module("pymupdf4llm")
    return lambda path: {"markdown": tool.to_markdown(path)}


def _unstructured() -> Read:
    """Return a reader; the language model, which the library would download, is replaced by docmill's own rules."""
    importlib.import_module("docmill.tasks.parse.partition.unstructured_reader").install()
    partition = importlib.import_module("unstructured.partition.auto").partition
    kinds = {"Title": "heading", "ListItem": "item", "Table": "table"}

    def read(path: str) -> dict[str, Any]:
        strategy = {"strategy": "fast"} if path.endswith(".pdf") else {}
        found = partition(path, **strategy)
        return {
            "elements": [
                {"kind": kinds.get(one.category, "text"), "text": one.text, "html": one.metadata.text_as_html or ""}
                for one in found
                if one.category not in ("Header", "Footer", "PageBreak", "PageNumber")
            ]
        }

    return read


def _docmill() -> Read:
    parser = importlib.import_module("docmill.tasks.parse.dispatch.reading")
    types = importlib.import_module("docmill.tasks.parse.dispatch.file_type")
    options = importlib.import_module("docmill.tasks.parse.formats").ParseOptions()

    def read(path: str) -> dict[str, Any]:
        data = Path(path).read_bytes()
        parsed = parser.parse(data, types.detect_file_type(Path(path).name, data), options)
        return {"elements": [_element(parsed, one) for one in parsed.elements if one.kind != "furniture"]}

    return read


def _element(parsed: Any, one: Any) -> dict[str, Any]:
    kinds = {"title": "heading", "list_item": "item"}
    text = str(one.attributes.get("text", parsed.text[one.start_char : one.end_char]))
    text = re.sub(r"^[`~]{3}.*$", "", text, flags=re.MULTILINE) if one.kind == "code" else text
    found = {"kind": kinds.get(one.kind, one.kind), "text": text}
    return found | ({"rows": one.attributes["cells"]} if one.kind == "table" else {})


TOOLS = {
    "docmill": _docmill,
    "kreuzberg": _kreuzberg,
    "markitdown": _markitdown,
    "pymupdf4llm": _pymupdf4llm,
    "unstructured": _unstructured,
}


def _seconds() -> float:
    """Return the processor time of this process and of what it started, ended or not."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) + sum(map(_ran, _children()))


def _children() -> list[str]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return []


def _ran(process: str) -> float:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9
    return 0.0


def _read(read: Read, path: Path) -> dict[str, Any]:
    start = _seconds()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            found = read(str(path))
    except Exception as error:  # of any kind: a tool that cannot read a file says so in its own way
        found = {"error": f"{type(error).__name__}: {error}"[:200]}
    return found | {"seconds": _seconds() - start}


def main() -> None:
    """Read every file below a folder; the first of each kind twice, as the tool then loads what it needs."""
    tool, folder, output = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    sys.path[:1] = [str(Path.cwd())] if tool in ("docmill", "unstructured") else []
    read, found, loaded = TOOLS[tool](), {}, set()
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        if path.suffix not in loaded:
            loaded.add(path.suffix)
            _read(read, path)
        found[str(path.relative_to(folder))] = _read(read, path)
    output.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
