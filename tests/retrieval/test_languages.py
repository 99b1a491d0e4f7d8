"""One index of several languages: each text is cut by its own, and a question finds it in other forms of its words."""
# ruff: noqa: RUF001  Russian is written in Cyrillic

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.keywords.analysis.analyser import ANALYSER_VERSION, analyse
from docmill.storage.keywords.analysis.languages import DETECTED, detect, with_languages
from docmill.storage.keywords.keyword_search import KeywordIndex
from docmill.storage.keywords.keyword_writer import rebuild, update
from docmill.storage.upkeep.verify import verify
from tests.kit.drawing import examples
from tests.kit.workbench import Workbench

TEXTS = {
    "english": [
        (
            "The pumps were cleaned by the engineers before the winter, so that none of them would freeze.",
            "freezing pump",
        ),
        ("All of the bakeries in the village sell their loaves in the morning and are closed at noon.", "bakery loaf"),
        ("It was the storms of that year which had broken the bridges over the river.", "storm breaking a bridge"),
    ],
    "german": [
        ("Die Häuser der Stadt wurden nach dem großen Brand wieder aufgebaut, und zwar aus Stein.", "Haus Brände"),
        ("In den Wäldern um das Dorf leben viele Hirsche, die man nur am frühen Morgen sieht.", "Hirsch im Wald"),
        ("Der Zug fährt nicht mehr, weil die Brücken über den Fluss gesperrt worden sind.", "gesperrte Brücke"),
    ],
    "french": [
        (
            "Les écoles de la ville ont été fermées pendant la tempête, et les enfants sont restés chez eux.",
            "école fermée",
        ),
        ("Dans cette vallée on cultive des vignes dont les raisins sont vendus sur les marchés.", "vigne marché"),
        ("Le moulin a été construit par des moines qui vivaient dans une abbaye au bord de la mer.", "moines abbayes"),
    ],
    "spanish": [
        ("Las canciones que se cantan en la fiesta son muy antiguas y nadie sabe de quién son.", "canción antigua"),
        (
            "Los pescadores del puerto venden por la mañana lo que han sacado del mar durante la noche.",
            "pescador puertos",
        ),
        ("Cuando llegan las lluvias, los ríos de la sierra crecen y se llevan los puentes.", "río puente"),
    ],
    "italian": [
        ("Le biblioteche della città sono aperte anche di sera, ma non tutte hanno i giornali.", "biblioteca giornale"),
        (
            "I contadini della valle hanno venduto le loro olive a un frantoio che sta oltre il fiume.",
            "contadino oliva",
        ),
        ("Nel museo ci sono i quadri dei pittori che hanno vissuto in questa casa.", "quadro pittore"),
    ],
    "dutch": [
        ("De molens aan het water zijn door de boeren gebouwd en worden nog altijd gebruikt.", "molen boer"),
        ("In de winkels van het dorp kan je geen kaarten kopen, maar wel in de stad.", "winkel kaart"),
        (
            "De fietsen die voor het station staan, zijn van mensen die met de trein naar hun werk gaan.",
            "fiets stations",
        ),
    ],
    "swedish": [
        ("Båtarna i hamnen har legat där sedan vintern, och ingen vet vem som äger dem.", "båt hamn"),
        ("Skogarna är så stora att man kan gå i dagar utan att se någon.", "skog dag"),
        ("Det var lärarna som hade köpt böckerna till barnen i den lilla skolan.", "lärare skolor"),
    ],
    "russian": [
        ("Дома в этом городе были построены из камня, а мосты из дерева.", "дом мост"),
        ("Рыбаки выходят в море ночью и возвращаются с рыбой утром.", "рыбак моря"),
        ("В библиотеке много старых книг, которые никто не читает.", "старая книга"),
    ],
}
CHUNKS = [(f"{language}-{n}", text) for language, own in TEXTS.items() for n, (text, _) in enumerate(own)]


@pytest.mark.parametrize("language", TEXTS)
def test_eight_languages_are_found_in_one_index_as_in_one_of_their_own(tmp_path: Path, language: str) -> None:
    together = rebuild(tmp_path, CHUNKS)
    (tmp_path / "own").mkdir()
    alone = rebuild(tmp_path / "own", [one for one in CHUNKS if one[0].startswith(language)], language)
    for number, (_, question) in enumerate(TEXTS[language]):
        for root, state in ((tmp_path, together), (tmp_path / "own", alone)):
            assert KeywordIndex(root, state).search(question, 1)[0].chunk_id == f"{language}-{number}", question


def test_an_index_names_the_languages_of_its_texts(tmp_path: Path) -> None:
    state = rebuild(tmp_path, [one for one in CHUNKS if one[0].startswith("english")])
    assert state.language == "english"
    state = update(tmp_path, state, [], [one for one in CHUNKS if one[0].startswith(("swedish", "german", "russian"))])
    assert state.language == "english+german+swedish"
    assert with_languages(state.language, ["german"]) == state.language


def test_a_chunk_has_the_same_terms_whatever_stands_beside_it(tmp_path: Path) -> None:
    state = rebuild(tmp_path, CHUNKS[:4])
    for chunk in CHUNKS[4:]:
        state = update(tmp_path, state, [], [chunk])
    (tmp_path / "again").mkdir()
    again = rebuild(tmp_path / "again", reversed(CHUNKS))
    assert set(state.language.split("+")) == set(again.language.split("+"))
    for _, question in (one for own in TEXTS.values() for one in own):
        ours, theirs = (
            KeywordIndex(root, one).search(question, 30)
            for root, one in ((tmp_path, state), (tmp_path / "again", again))
        )
        assert [hit.chunk_id for hit in ours] == [hit.chunk_id for hit in theirs]


def test_the_stop_words_of_a_question_are_those_of_its_language() -> None:
    both = "english+german"
    assert analyse("what is the price of the houses", both) == analyse("price houses", both)
    assert analyse("was ist mit den Häusern", both) == analyse("Häusern", both)
    assert analyse("die", both) == ["die"]


def test_a_chunk_in_doubt_does_not_outweigh_all_others(tmp_path: Path) -> None:
    spanish = [
        (f"s{n}", f"La escuela {word} de los niños que están en la sierra.") for n, word in enumerate("abcdefgh")
    ]
    state = rebuild(
        tmp_path, [*spanish, ("best", "La escuela es de piedra y la iglesia es de madera."), ("x", "escuela")]
    )
    assert state.language == "english+spanish"
    hits = KeywordIndex(tmp_path, state).search("escuelas de piedra", 3)
    assert hits[0].chunk_id == "best"


def test_short_texts_code_and_names_stay_in_doubt() -> None:
    for text in (
        "",
        "Berlin",
        "Der Spiegel",
        "La Paz",
        "| de | fr | es |",
        "for i in range(10): die(un, el, la)",
        "la la",
    ):
        assert detect(text, ("english", *DETECTED)) in ("", "english"), text


@examples(100)
@given(st.text())
def test_any_text_has_a_language_or_none(text: str) -> None:
    assert detect(text) in {"", *DETECTED}
    assert all(analyse(text, "english+german+french"))


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


@pytest.mark.usefixtures("fake_model")
def test_a_store_holds_several_languages_and_verifies(bench: Workbench) -> None:
    bench.write({f"{key}.md": f"# {key}\n\n{text}\n" for key, text in CHUNKS})
    bench.ingest()
    assert bench.store.search("Häuser im Brand", mode="keyword")[0].uri == "german-0.md"
    assert bench.store.search("canción", mode="keyword")[0].uri == "spanish-0.md"
    assert verify(bench.root, deep=True) == []
    assert bench.store.snapshot.keywords.analyser == ANALYSER_VERSION
