"""Classifier: the likeliest type of a text, by Google's magika, whose model is part of its wheel.

It takes about 4 ms a file and 60 MB once, so it is asked only if name and content leave the type open.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from docmill.tasks.parse.format import FileType
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.parse.languages import LANGUAGES

if TYPE_CHECKING:
    from magika import Magika

# Its labels for languages that docmill names differently; those of formats are in their records.
_LANGUAGES = {
    "asm": "assembly",
    "batch": "batch",
    "cs": "csharp",
    "csproj": "xml",
    "gemfile": "ruby",
    "gemspec": "ruby",
    "gradle": "groovy",
    "hcl": "terraform",
    "objectivec": "objectivec",
    "proto": "protobuf",
    "scss": "css",
    "vba": "vb",
    "vcxproj": "xml",
    "winregistry": "ini",
    "bazel": "python",
    "coffeescript": "javascript",
}
_FORMATS = {label: form.name for form in FORMATS.values() for label in form.labels}


@lru_cache(maxsize=1)
def _model() -> "Magika":
    import onnxruntime
    from magika import Magika

    class SingleThread(Magika):
        """One that computes in the calling thread; with a thread for each core, idle ones spin for as long again."""

        def _init_onnx_session(self) -> Any:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            return onnxruntime.InferenceSession(self._model_path, options, providers=["CPUExecutionProvider"])

    return SingleThread()


def classify(text: str, least: float) -> FileType | None:
    """Return the likeliest type of a text; None for plain text or a score, in [0, 1], below `least`.

    The format may be one that `FORMATS` lacks. Source: Fratantonio et al., Magika, ICSE 2025.
    """
    result = _model().identify_bytes(text.encode("utf-8", "replace"))
    label = str(result.output.label)
    if result.score < least:
        return None
    if label in _FORMATS:
        return FileType(_FORMATS[label])
    language = _LANGUAGES.get(label, label)
    return FileType("code", language) if language in LANGUAGES else None
