"""LibreOffice: convert Word documents of up to 2003 to the current format, if it is installed.

It runs headless, in a separate process with the worker's limits and a fresh profile for each document: no macro runs,
and no link of a document is fetched.
"""

import os
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.office.properties import compound_properties
from docmill.tasks.parse.pandoc.word.old_word import draw_old_word
from docmill.tasks.parse.pandoc.word.word import parse_docx

_TIMEOUT_S = 120.0
"""Seconds for a conversion.

LibreOffice hangs on some damaged files, which block a worker for this long; with less, long documents are rejected on a
slow machine, where its start alone takes a while.
"""
_MAX_MESSAGE = 200  # characters of its last line: the reason, not the paths that may follow
_PROGRAMS = ("soffice", "libreoffice")
_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableMacrosExecution"
 oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="MacroSecurityLevel"
 oor:op="fuse"><value>3</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableActiveContent"
 oor:op="fuse"><value>true</value></prop></item>
</oor:items>
"""


def parse_doc(data: bytes, options: ParseOptions) -> Parsed:
    """Return a Word document of up to 2003, converted and then read as a current one.

    Where LibreOffice is not installed, or fails, its own text is read, and the metadata say so.
    """
    try:
        converted = _converted(data, "doc", "docx")
    except Rejected as why:
        return _own_text(data, why)
    return _with_properties(parse_docx(converted, options), data)


def _own_text(data: bytes, why: Rejected) -> Parsed:
    """Return a document as its own pieces say; raise `why`, the reason of LibreOffice, if they say nothing."""
    try:
        drawn = draw_old_word(data)
    except Exception as error:  # a damaged file may break the reading of its table anywhere
        raise why from error
    if not drawn.text:
        raise why
    return replace(drawn, metadata=drawn.metadata | {"read_as": f"pieces of text; {why.message}"})


def _with_properties(parsed: Parsed, data: bytes) -> Parsed:
    """Return a document with the properties of the original file; the converted one has the dates of the conversion."""
    own = compound_properties(data)
    title = own.pop("title", "") or parsed.title
    kept = {name: value for name, value in parsed.metadata.items() if name not in ("created", "modified")}
    return replace(parsed, title=title, metadata=kept | own)


def _converted(data: bytes, suffix: str, wanted: str) -> bytes:
    """Return a document in another format; raise Rejected `not_installed`, `timeout`, `corrupt`."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        raise Rejected("not_installed", f"{suffix} needs LibreOffice: install libreoffice-writer")
    with tempfile.TemporaryDirectory(prefix="docmill-") as name:
        folder = Path(name)
        source, made = folder / f"document.{suffix}", folder / "out" / f"document.{wanted}"
        source.write_bytes(data)
        settings = folder / "profile" / "user" / "registrymodifications.xcu"
        settings.parent.mkdir(parents=True)
        settings.write_text(_SETTINGS, encoding="utf-8")
        said = _run([program, f"-env:UserInstallation={(folder / 'profile').as_uri()}", "--headless", "--norestore",
                     "--nologo", "--nodefault", "--convert-to", wanted, "--outdir", str(made.parent), str(source)],
                    folder)  # fmt: skip
        if not made.exists():
            raise Rejected("corrupt", f"LibreOffice cannot read it as {suffix}: {said or 'it gives no reason'}")
        return made.read_bytes()


def _run(command: list[str], folder: Path) -> str:
    """Run LibreOffice with a separate home folder; return the last line of its output."""
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8"}
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd=folder,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise Rejected("timeout", f"LibreOffice took more than {_TIMEOUT_S:g} seconds") from error
    if done.returncode < 0:
        raise Rejected("crashed", f"LibreOffice was killed by signal {-done.returncode}")
    lines = (done.stderr + b"\n" + done.stdout).decode("utf-8", "replace").split("\n")
    return next((line.strip()[:_MAX_MESSAGE] for line in reversed(lines) if line.strip()), "")
