"""A new user gets from a store to an answer by copying five lines, whatever the application is built with."""

import re

import pytest

from tests.kit.house import ROOT
from tests.kit.pages.blocks import Block, blocks_of

GUIDES = ROOT / "docs" / "guides"
MOST_LINES = 5
WAYS = {  # where each way stands, and how many blocks it has
    "mcp": ("mcp.md", "Connect a client", 1),
    "curl": ("http.md", "Serve over HTTP", 2),
    "langchain": ("adapters.md", "LangChain", 1),
    "llama_index": ("adapters.md", "LlamaIndex", 1),
    "haystack": ("adapters.md", "Haystack", 1),
    "prefect": ("adapters.md", "Prefect", 1),
}


def below(page: str, heading: str, count: int) -> list[Block]:
    """Return the first blocks below a heading of a page."""
    lines = (GUIDES / page).read_text(encoding="utf-8").splitlines()
    (place,) = (number for number, line in enumerate(lines, 1) if re.fullmatch(rf"#+ {heading}", line))
    return [block for block in blocks_of(GUIDES / page) if block.line > place][:count]


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_takes_five_lines_that_a_test_copies(way: str) -> None:
    blocks = below(*WAYS[way])
    written = [line for block in blocks for line in block.code.splitlines() if line.strip()]
    assert 0 < len(written) <= MOST_LINES
    assert all(block.runs or block.title for block in blocks)
    assert way in "".join(written)
