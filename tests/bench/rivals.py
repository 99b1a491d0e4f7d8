"""Recursive splitters of other libraries, for comparison where they are installed; docmill needs none of them."""

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec

from tokenizers import Tokenizer

Split = Callable[[str], object]
INSTALL = "pip install chonkie langchain-text-splitters"


def rivals(tokenizer: Tokenizer, size: int) -> Iterator[tuple[str, float, Callable[[], Split]]]:
    """Yield a name, how many times as fast `recursive` is to be, and what makes a splitter that has seen no text."""
    if find_spec("chonkie"):
        chunker = import_module("chonkie").RecursiveChunker
        yield "chonkie's RecursiveChunker", 2, lambda: chunker(tokenizer=tokenizer, chunk_size=size).chunk
    if find_spec("langchain_text_splitters"):
        splitter = import_module("langchain_text_splitters").RecursiveCharacterTextSplitter
        measure = {"chunk_size": size, "chunk_overlap": 0, "length_function": lambda text: _length(tokenizer, text)}
        yield "LangChain's RecursiveCharacterTextSplitter", 4, lambda: splitter(**measure).split_text


def _length(tokenizer: Tokenizer, text: str) -> int:
    return len(tokenizer.encode(text, add_special_tokens=False))
