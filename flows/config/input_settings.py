"""Input settings: the sections of docmill.toml about which files are read and how, and types that sections share."""

import json
from typing import Annotated, Any, Literal

from docmill.flows.config.section import (
    Before,
    Bytes,
    Characters,
    ConfigSection,
    Field,
    Files,
    Levels,
    Megabytes,
    Processes,
    Seconds,
    Times,
)
from docmill.storage.process.processors import processors
from docmill.tasks.work.pool.limits import Limits


def decode(value: Any) -> Any:
    """Parse JSON if an environment variable or a flag has a list or a table as text."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value  # if it is text, the settings reject it and say what it should be
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError(f"not the JSON of a list or a table: {error}") from None


def decode_texts(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return decode(value) if value.lstrip().startswith("[") else (value,)


def _spell_switch(value: Any) -> Any:
    """Return `on` or `off` for the spellings of true and false in TOML, the environment and flags."""
    spelled = str(value).lower()
    return {"true": "on", "1": "on", "false": "off", "0": "off"}.get(spelled, value)


Texts = Annotated[tuple[str, ...], Before(decode_texts)]


class DiscoverSettings(ConfigSection):
    """Which files of a source become documents."""

    include: Texts = Field(default=(), description="Include only files that match one of these patterns.")
    exclude: Texts = Field(
        default=(), description="Exclude files that match one of these patterns, in the syntax of .gitignore."
    )
    ignore_file: str = Field(
        default=".docmillignore",
        description="Name of files with patterns that exclude files in the same folder and below.",
    )
    hidden: bool = Field(default=False, description="Include hidden files and folders (names that begin with a dot).")
    follow_links: Literal["inside", "none", "all"] = Field(
        default="inside",
        description="Symbolic links to follow: inside (to files of the same source, each file once), none or all.",
    )
    max_file_bytes: Bytes = Field(
        default=100_000_000, gt=0, description="Reject files larger than this without reading them."
    )


class ReaderRule(ConfigSection):
    """Which parser reads the files that match a glob, instead of the default of their format."""

    glob: str = Field(min_length=1)
    reader: str = Field(min_length=1)
    options: dict[str, Any] = Field(default={})


class ParseSettings(ConfigSection):
    """Limits for one document, passwords, OCR and readers."""

    timeout_s: Seconds = Field(default=120.0, gt=0, description="Time limit for one document, in wall-clock seconds.")
    memory_mb: Megabytes = Field(default=2048, ge=256, description="Memory limit of one worker process, in megabytes.")
    workers: Processes = Field(default=0, ge=0, description="Number of worker processes; 0 starts one per CPU.")
    max_characters: Characters = Field(
        default=50_000_000, gt=0, description="Reject documents with more characters of text than this."
    )
    passwords: Texts = Field(default=(), description="Passwords to try on encrypted files.", repr=False)
    ocr: Annotated[Literal["auto", "on", "off", "rapidocr", "tesseract"], Before(_spell_switch)] = Field(
        default="auto",
        description="Read scanned PDF pages and images: auto (if docmill[ocr] is installed), on or true (with tesseract"
        " where it is not), off or false, or an engine: rapidocr or tesseract.",
    )
    ocr_languages: str = Field(
        default="eng",
        pattern=r"^\w+([+/]\w+)*$",
        description="Languages of scanned text by their Tesseract codes, such as eng+deu. rapidocr reads"
        " all languages in Latin script, Chinese and Japanese at once.",
    )
    comments: bool = Field(
        default=False,
        description="Read the comments of Word and OpenDocument texts, each below the paragraph that it is about.",
    )
    readers: Annotated[tuple[ReaderRule, ...], Before(decode)] = Field(
        default=(),
        description="Which parser reads files, instead of the default of their format. The first matching glob wins.",
        examples=['[[parse.readers]]\nglob = "**/*.pdf"\nreader = "unstructured"'],
    )

    def limits(self) -> Limits:
        """Return the limits for one document; the default is one worker process per CPU."""
        workers = self.workers or processors()
        return Limits(workers=workers, timeout_s=self.timeout_s, memory_mb=self.memory_mb)


class ArchivesSettings(ConfigSection):
    """Limits for one archive or mail, including everything nested in it."""

    max_members: Files = Field(default=10_000, gt=0, description="Reject archives with more files than this.")
    max_bytes: Bytes = Field(
        default=1_000_000_000, gt=0, description="Reject archives that unpack to more bytes than this."
    )
    max_ratio: Times = Field(
        default=200.0, gt=0, description="Reject archives with a higher compression ratio than this."
    )
    max_depth: Levels = Field(default=4, gt=0, description="Maximum depth of nested archives.")
