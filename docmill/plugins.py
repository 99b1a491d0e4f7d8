"""What the author of a plugin needs: the protocol of each group, and the values that its methods take and return.

| entry point group | protocol | chosen by |
|---|---|---|
| `docmill.parsers` | `ParserPlugin` | the format of a file, `[[parse.readers]] reader` |
| `docmill.splitters` | `SplitterPlugin` | `[[routes]] strategy` |
| `docmill.contextualizers` | `ContextualizerPlugin` | `[chunk] contextualizer`, `[[routes]] contextualizer` |
| `docmill.encoders` | `EncoderPlugin` | `[embedding] model` |
| `docmill.rerankers` | `RerankerPlugin` | `[search] rerank` |
| `docmill.sources` | `SourcePlugin` | `sources` |

The name of an entry point is the name by which the settings choose the plugin. `docmill plugins` lists what is
installed, `docmill.testing` tests it, and the guide "Write a plugin" builds an example of each.
"""

from docmill.storage.errors import Rejected, Transient
from docmill.storage.plugins.secret import Secret
from docmill.storage.schema import ChunkRow, Element, Parsed
from docmill.storage.search.encode.plugin_encoder import EncoderPlugin
from docmill.storage.search.rank.steps.rerankers import RerankerPlugin
from docmill.tasks.context.context_input import ContextInput
from docmill.tasks.context.contextualizers import ContextualizerPlugin, Lead
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.dispatch.parser import NoOptions, ParserPlugin
from docmill.tasks.sources.connectors.contract import SourceItem, SourceListing, SourcePlugin, SourceReader
from docmill.tasks.sources.connectors.source_settings import SourceSettings
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.strategy_options import Options
from docmill.tasks.split.spans.span import Span
from docmill.tasks.split.splitter import SplitterPlugin

__all__ = [
    "Canvas",
    "ChunkRow",
    "ContextInput",
    "ContextualizerPlugin",
    "Element",
    "EncoderPlugin",
    "Lead",
    "NoOptions",
    "Options",
    "Parsed",
    "ParserPlugin",
    "Part",
    "Rejected",
    "RerankerPlugin",
    "Secret",
    "SourceItem",
    "SourceListing",
    "SourcePlugin",
    "SourceReader",
    "SourceSettings",
    "Span",
    "SplitterPlugin",
    "Transient",
]
