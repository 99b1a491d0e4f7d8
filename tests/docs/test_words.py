"""The documentation stays short enough to be read."""

from tests.bench.size import MOST_WORDS, pages, words


def test_the_documentation_has_no_more_words_than_its_bound() -> None:
    counts = {name: words(text) for name, text in pages().items()}
    total, longest = sum(counts.values()), sorted(counts, key=counts.__getitem__)[-10:]
    assert total <= MOST_WORDS, f"{total:,} words; the longest pages are {longest}; python -m tests.bench.size --pages"


def test_words_are_counted_as_wc_does() -> None:
    assert words("| a | `b c` |\n|---|---|\n") == 7
