"""Warm-up: read made-up documents, so that a worker has loaded its parsers before the first real documents arrive."""

from docmill.tasks.counting.counter import counter_of
from docmill.tasks.counting.tokens import load_tokenizer
from docmill.tasks.parse.dispatch.file_type import detect_file_type, format_of_name
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.work.document import process  # noqa: F401  all that follows the parser

_SAMPLES = {
    "text": ("mill.txt", "Of a mill, and of the grain that is ground in it.\n"),
    "markdown": ("mill.md", "# Mill\n\nGrain is *ground* here.\n"),
    "html": ("mill.html", "<!DOCTYPE html><html><head><title>Mill</title></head><body><p>Grain.</p></body></html>\n"),
}
"""A sample of each format that is common, and fast to read once its parser is loaded."""


def warm_up(names: str, tokenizer: str) -> None:
    """Load the parsers for file names, which are separated by slashes, and the tokenizer in a folder, unless ""."""
    if tokenizer:
        counter_of(load_tokenizer(tokenizer))
    for form in sorted({format_of_name(name) for name in names.split("/")} & _SAMPLES.keys()):
        name, text = _SAMPLES[form]
        parse(text.encode(), detect_file_type(name, text.encode()), ParseOptions())
