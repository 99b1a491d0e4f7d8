"""Context: what is said before a chunk for retrieval, so that it can be understood alone, in one of several ways."""

from tasks.context.setting import Contextualizer, Setting, setting_of
from tasks.context.structural import structural
from tasks.context.window import window
from tasks.split.span import Span

__all__ = ["CONTEXTUALIZERS", "Contextualizer", "Setting", "setting_of"]


def _none(_setting: Setting, _span: Span) -> str:
    return ""


CONTEXTUALIZERS: dict[str, Contextualizer] = {
    one.name: one
    for one in (
        Contextualizer("none", 1, _none),
        Contextualizer("structural", 3, structural),
        Contextualizer("window", 2, window),
    )
}
