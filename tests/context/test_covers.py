"""Covers: the words before the first section of a document without a title find its chunks, and nothing is embedded."""

from pathlib import Path

import pytest

from docmill.storage.schema import Parsed
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.read.store import Store
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.titles.own_title import COVER, cover
from tests.kit.workbench import Workbench

FRONT = "ANNUAL REPORT\n\nFor the year 2019\n\n{}\n(Exact name of the registrant as specified in its charter)"
PROSE = [
    f"In the {nth} month of the year we opened a plant, hired people for it, and paid what they needed to begin."
    for nth in ("first", "second", "third")
]
BODY = "\n\n".join(["ITEM 1. BUSINESS", PROSE[0], "ITEM 2. RISKS", PROSE[1], "ITEM 3. RESULTS", PROSE[2]])


def read(text: str, form: str = "text") -> Parsed:
    return parse(text.encode(), FileType(form), ParseOptions())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"{FRONT.format('Tarnley Optics')}\n\n{BODY}",
            "ANNUAL REPORT For the year 2019 Tarnley Optics (Exact name",
        ),
        (f"Brewer & Sons\n12 Mill Lane\n\nDear Sir,\n\n{PROSE[0]}", "Brewer & Sons 12 Mill Lane Dear Sir,"),
        (BODY, ""),  # the line before the first paragraph is a heading
        (f"Dear Sir,\n\n{PROSE[0]}", ""),  # one line is no cover
        ("\n\n".join(PROSE), ""),
        ("one\n\ntwo\n\nthree\n\nfour", ""),  # nothing follows
    ],
)
def test_a_cover_is_what_stands_before_the_first_section(text: str, words: str) -> None:
    assert cover(read(text)).startswith(words)
    assert bool(cover(read(text))) == bool(words)


def test_a_long_cover_is_cut_and_markup_is_none() -> None:
    lines = "Bakers\n\nMillers\n\n"
    many = "\n".join(f"word{number}" for number in range(500))
    assert len(cover(read(f"{lines}{many}\n\n{PROSE[0]}")).split()) == 120
    assert cover(read(f'<a id="mill"></a>\n<a id="bread"></a>\n\n{PROSE[0]}\n', "markdown")) == ""
    assert cover(read(f"{lines}| a | b |\n|---|---|\n| 1 | 2 |\n\n{PROSE[0]}\n", "markdown")) == ""


def found(store: Store, words: str) -> dict[str, set[tuple[str, ...]]]:
    """Return the fields of each document's hits that have one of the words."""
    hits = store.search(words, 20, mode="keyword", distinct=False)
    uris = dict.fromkeys(hit.uri for hit in hits)
    return {uri: {name for hit in hits if hit.uri == uri for name in hit.fields.values()} for uri in uris}


@pytest.mark.usefixtures("fake_model")
def test_words_of_a_cover_find_all_chunks_below_it(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, {"routes": [{"glob": "**", "strategy": "structure", "options": {"size": 40}}]})
    first, second = (f"{FRONT.format(name)}\n\n{BODY}" for name in ("Tarnley Optics", "Corwen Mills"))
    bench.write({"1.txt": first, "2.txt": second, "3.md": f"# Rye\n\nTarn\n\nBakers\n\n{PROSE[0]}\n"})
    bench.ingest()
    chunks = [chunk for chunk in bench.chunks() if chunk.uri == "1.txt"]
    assert len(chunks) > 3
    assert len(bench.store.search("tarnley", 20, mode="keyword", distinct=False)) == len(chunks)
    assert found(bench.store, "tarnley") == {"1.txt": {("text", "title"), ("title",)}}
    read = f"SELECT title, metadata ->> '$.{COVER}' AS words FROM documents WHERE uri = '1.txt'"
    (row,) = bench.store.sql(read).to_pylist()
    assert row["title"] == ""
    assert row["words"].endswith("Tarnley Optics (Exact name of registrant as specified in its charter)")
    assert bench.store.search("bakers", 20, mode="keyword")[0].fields["baker"] == ("text",), "it has a title"
    assert bench.ingest().snapshot is None
    bench.write({"1.txt": first.replace("Tarnley", "Brackwater")})
    assert bench.ingest().embedded == 1  # the cover's own chunk; the others have new postings
    assert found(bench.store, "tarnley") == {}
    assert set(found(bench.store, "brackwater")) == {"1.txt"}
    assert verify(bench.root, deep=True) == []
