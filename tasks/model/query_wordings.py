"""Query wordings: rephrasings of a query by a language model; each query is paid for once."""

import re
from dataclasses import dataclass

from docmill.storage.errors import NoWordings
from docmill.tasks.model.client import ModelAccess, ModelClient, Spent
from docmill.tasks.model.prompt import Prompt

_ASKED = (
    "You help to search a collection of documents. Write the query below in three other ways, one a line, nothing "
    "else: in other words, as a statement that would answer it, and as bare keywords. Keep names, numbers and its "
    "language.\n\n"
)
_MOST_TOKENS = 200
"""Tokens of three lines, each with room for a long query."""
_MOST_WORDINGS = 3
"""Maximum rephrasings to search for, whatever else the model adds."""
_MARK = re.compile(r"\s*(?:[-*\u2022]|\d{1,2}[.)])\s+")


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Asks a model for other wordings of a query; raises `NoWordings` if it gives none."""

    asking: ModelAccess

    def __call__(self, query: str) -> list[str]:
        prompt = Prompt((_ASKED, query), purpose="expand", max_tokens=_MOST_TOKENS)
        with ModelClient(self.asking) as model_client:
            answers = model_client.ask([prompt])
            spent = model_client.spent
        found = wordings(answers[prompt].text) if prompt in answers else []
        if not found:
            raise NoWordings(_reason(spent))
        return found


def _reason(spent: Spent) -> str:
    """Return why a model gave no wording."""
    if spent.left:
        return "the budget of the language model is spent"
    said = "; ".join(row.reason for row in spent.costs if row.reason)
    return f"the language model gave no other wording{said and f' ({said})'}"


def wordings(said: str) -> list[str]:
    """Return the first lines of a reply that contain words, without bullets, numbers and quotation marks."""
    lines = [_MARK.sub("", line, count=1).strip(" \t\"'") for line in said.splitlines()]
    return [line for line in lines if any(map(str.isalnum, line))][:_MOST_WORDINGS]
