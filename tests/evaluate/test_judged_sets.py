"""The judged sets of the retrieval benchmark: questions whose answers stand where the sets say."""

import ast
import json
import re
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from docmill.storage.search.rank.candidates.hit import Hit
from docmill.tasks.evaluate.overlap import Passage
from tests.bench.sets.catalogue import SETS, chosen
from tests.bench.sets.code import bare, read_code
from tests.bench.sets.collection import Asked, Collection, Given
from tests.bench.sets.filing_texts import NUMBERS, QUESTIONS
from tests.bench.sets.filings import ASKED, make_filings
from tests.bench.sets.links import read_links, section_of
from tests.bench.sets.public import read_answers
from tests.bench.sets.untitled import TOGETHER, read_untitled
from tests.bench.sets.worth import documents_ranked, excerpts_held, hit_at, pages_led_to

SOURCE = '''\
"""A module."""


class Kettle:
    """A vessel."""

    @property
    def heat(self):
        """Return how hot the water in the kettle is. In degrees.

        And more.
        """
        if self.dry:
            return 0
        # comment
        level = self.level
        return level * 2

    def tiny(self):
        """Say nothing at all to any caller."""

    def inline(self): "Be short and say so here."; return 1
'''


def hit(uri: str, start: int, end: int) -> Hit:
    return Hit(1, 1.0, None, None, "", uri, start, end, "", "", (), None, "", "")


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_question_is_in_one_half_by_its_text_alone() -> None:
    asked = tuple(Asked(str(number), f"question {number}") for number in range(400))
    both = Collection({}, asked)
    assert sorted(both.asked("look") + both.asked("report"), key=lambda one: int(one.id)) == list(asked)
    assert 150 < len(both.asked("look")) < 250
    assert Asked("9", "question 3").half == asked[3].half
    assert Asked("3", "another question").key != asked[3].key


def test_a_folder_holds_the_documents_of_its_set_and_no_others(tmp_path: Path) -> None:
    Collection({"a.md": "one", "b/c.md": "two"}, ()).write(tmp_path)
    Collection({"a.md": "three"}, ()).write(tmp_path)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["a.md"]
    assert (tmp_path / "a.md").read_text() == "three"


def test_sets_are_chosen_by_how_their_names_begin() -> None:
    assert [one.name for one in chosen(["excerpts", "code"])] == ["excerpts-200", "excerpts-400-parts", "code"]
    assert chosen([]) == list(SETS)
    with pytest.raises(ValueError, match=r"no set 'nil'; there are excerpts-200"):
        chosen(["nil"])


def test_a_set_without_its_data_is_left_out(tmp_path: Path) -> None:
    assert [one.name for one in SETS if one.read(Given(tmp_path, packages=tmp_path)) is not None] == ["filings", "code"]


def test_filings_are_near_copies_and_every_question_has_its_place() -> None:
    made = make_filings()
    assert made == make_filings()
    assert len(made.documents) == 60
    assert len({one.text for one in made.questions}) == ASKED
    for one in made.questions:
        years = re.findall(r"\b20(?:17|18|19|20|21)\b", one.text)
        uris = [place.document for place in one.references]
        assert len(set(uris)) == len(uris) > 0
        said = [made.documents[place.document][place.start : place.end] for place in one.references]
        assert all(text.endswith((".", "|")) and "[[" not in text for text in said)
        for number in re.findall(r"\$[\d.]+", one.text):
            assert all(number in text for text in said)
        if years and "number" not in one.id and ":note-" not in one.id:
            assert any(f"fiscal year {years[-1]}" in made.documents[uri] for uri in uris), one
    without_digits = [{re.sub(r"\d+", "0", one) for one in text.split("\n\n")} for text in made.documents.values()]
    often = Counter(one for paragraphs in without_digits for one in paragraphs)
    assert sum(count == len(made.documents) for count in often.values()) > 10
    assert {one.id.split(":")[1] for one in made.questions} == {*QUESTIONS, *NUMBERS}


def test_untitled_files_have_the_articles_at_the_places_of_the_questions(tmp_path: Path) -> None:
    rows = [
        {
            "_id": str(number),
            "title": f"Title {number}",
            "text": f"First of {number}. Second one. Third. Fourth. Fifth.",
        }
        for number in range(45)
    ]
    write(
        tmp_path,
        {
            "corpus.jsonl": "\n".join(map(json.dumps, rows)),
            "queries.jsonl": json.dumps({"_id": "q", "text": "which one is it"}),
            "qrels/test.tsv": "query\tcorpus\tscore\nq\t7\t1\nq\t31\t2\n",
        },
    )
    found = read_untitled(tmp_path)
    assert len(found.documents) == -(-45 // TOGETHER)
    assert not re.search(r"^#", "\n".join(found.documents.values()), re.MULTILINE)
    said = [found.documents[one.document][one.start : one.end] for one in found.questions[0].references]
    assert sorted(said) == sorted(f"First of {n}. Second one. Third. Fourth.\n\nFifth." for n in (7, 31))
    firsts = [re.sub(r"\d+", "0", text.splitlines()[0]) for text in found.documents.values()]
    assert firsts == [" = Title 0 = ", "TITLE 0", "Title 0"]


def test_answers_are_places_or_documents(tmp_path: Path) -> None:
    place = {"document": "a.md", "start_char": 4, "end_char": 8, "text": "snow"}
    rows = [{"question": "what falls?", "answers": [place]}, {"question": "where?", "documents": ["b.md"]}]
    write(
        tmp_path, {"docs/a.md": "The snow.", "docs/b.md": "Here.", "questions.jsonl": "\n".join(map(json.dumps, rows))}
    )
    found = read_answers(tmp_path)
    assert found.documents == {"a.md": "The snow.", "b.md": "Here."}
    assert [one.references for one in found.questions] == [(Passage("a.md", 4, 8),), ()]
    assert [one.grades for one in found.questions] == [{}, {"b.md": 1}]


def test_code_keeps_its_lines_and_loses_its_docstrings() -> None:
    found = bare(SOURCE)
    assert len(found.text.splitlines()) == len(SOURCE.splitlines())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    nodes = [node for node in ast.walk(ast.parse(found.text)) if isinstance(node, documented)]
    assert [ast.get_docstring(node) for node in nodes] == [None] * 5
    ((question, start, end),) = found.functions
    assert question == "Return how hot the water in the kettle is."
    assert found.text[start:end].startswith("    @property\n    def heat(self):")
    assert found.text[start:end].endswith("return level * 2")


def test_code_asks_for_functions_at_their_paths(tmp_path: Path) -> None:
    write(tmp_path, {"click/one.py": SOURCE + "#" * 2000, "click/two.py": SOURCE + "#" * 2001, "other/x.py": SOURCE})
    found = read_code(tmp_path)
    assert sorted(found.documents) == ["click/one.py", "click/two.py"]
    (asked,) = found.questions  # that of both files
    assert {one.document for one in asked.references} == {"click/one.py", "click/two.py"}


BOIL = "## Boil water\n\nHeat it.\n\n### More\n\nMuch.\n\n"
PAGES = {
    "site/guide.mdx": "See [how to boil water](/kettle#boil-water) and [tea](/kettle), ![a red picture](/kettle).\n",
    "site/faq.md": "[How to boil `water`](kettle.mdx#boil-water), [the other page](/kettle), [the other page](guide)\n",
    "site/kettle.mdx": f"# Kettle\n\n{BOIL}## Clean\n\nRinse [it out well](#clean).\n",
}


def test_links_ask_for_the_page_and_section_that_they_lead_to(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "docs.tar.gz", "w:gz") as archive:
        archive.add(write(tmp_path / "docs" / "v1", PAGES), "docs/v1")
    for path in (tmp_path / "docs" / "v1", tmp_path / "docs.tar.gz"):
        found = read_links(path)
        (asked,) = found.questions
        assert asked.text.lower() == "how to boil water"
        assert asked.grades == {"site/kettle.mdx": 1}
        assert asked.besides == {"site/guide.mdx", "site/faq.md"}
        (place,) = asked.references
        assert found.documents[place.document][place.start : place.end] == BOIL
        assert found.documents == PAGES


def test_a_heading_within_code_is_no_section() -> None:
    assert section_of("```\n# Boil\n```\n\n# Boil\n\nNow.\n", "boil") == (16, 28)


def test_what_hits_are_worth() -> None:
    asked = Asked("1", "?", (Passage("a", 10, 20),), {"a": 1})
    hits = [hit("b", 0, 9), hit("a", 0, 14), hit("a", 12, 20)]
    assert hit_at(1, 2)(asked, hits) == {"hit@1": 0.0, "hit@2": 1.0}
    assert hit_at(2, 3, share=0.5)(asked, hits) == {"hit@2": 0.0, "hit@3": 1.0}
    assert excerpts_held(2)(asked, hits)["recall@2"] == pytest.approx(0.4)
    assert documents_ranked(asked, hits)["nDCG@10"] == pytest.approx(0.6309, abs=1e-4)
    assert pages_led_to(1)(asked, hits) == {"MRR": 0.5, "hit@1": 0.0, "section hit@1": 0.0}
    assert pages_led_to(2)(asked, []) == {"MRR": 0.0, "hit@2": 0.0, "section hit@2": 0.0}
