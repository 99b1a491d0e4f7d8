"""A contextualizer: the title of the document and the innermost heading above a chunk."""

from docmill.plugins import ContextInput, Lead, Span


class Trail:
    """The contextualizer `trail`."""

    version = 1

    def say(self, setting: ContextInput, span: Span, lead: Lead) -> str:
        """Return the title, the heading, and what the strategy adds, each once."""
        names = [setting.title, *setting.headings(span)[-1:], lead(span)]
        return " / ".join(dict.fromkeys(name for name in names if name))
