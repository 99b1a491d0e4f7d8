"""One index of several languages: each text is cut by its own, and a question finds it in other forms of its words."""
# ruff: noqa: RUF001  other scripts have letters that look like Latin ones

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.search.keywords.analysis.analyser import ANALYSER_VERSION, analyse
from docmill.storage.search.keywords.analysis.language_detection import written_language
from docmill.storage.search.keywords.analysis.language_tags import TAGS, primary_tag
from docmill.storage.search.keywords.analysis.languages import DETECTED, detect, with_languages
from docmill.storage.search.keywords.keyword_search import KeywordIndex
from docmill.storage.search.keywords.keyword_writer import rebuild, update
from docmill.storage.snapshots.clean.verify import verify
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
def test_one_store_finds_in_eight_languages_what_eight_stores_find(bench: Workbench) -> None:
    bench.write({f"{key}.md": f"# {key}\n\n{text}\n" for key, text in CHUNKS})
    bench.ingest()
    for language, own in TEXTS.items():
        alone = Workbench(bench.folder / language)
        alone.write({f"{language}-{n}.md": f"# {language}-{n}\n\n{text}\n" for n, (text, _) in enumerate(own)})
        alone.ingest()
        for number, (_, question) in enumerate(own):
            for store in (bench.store, alone.store):
                assert store.search(question, k=1, mode="keyword")[0].uri == f"{language}-{number}.md", question
    assert verify(bench.root, deep=True) == []
    assert bench.store.snapshot.keywords.analyser == ANALYSER_VERSION


@pytest.mark.parametrize("language", TEXTS)
def test_a_document_that_states_no_language_has_that_of_its_words(language: str) -> None:
    text = " ".join(sentence for sentence, _ in TEXTS[language])
    assert written_language(text) == (TAGS | {"russian": "ru"})[language]


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。", "ja"),
        ("秋天的风吹过田野，农民把麦子送到磨坊。", "zh"),
        ("방앗간은 강가에 있고 농부들은 밀을 가져온다.", "ko"),
        ("Млин стоїть біля річки, і селяни везуть туди зерно.", "uk"),
        ("الطاحونة على ضفة النهر، والفلاحون يحملون القمح إليها.", "ar"),
        ("آسیاب کنار رودخانه است و کشاورزان گندم را پیش آسیابان می‌برند و چای می‌خورند.", "fa"),
        ("טחנת הקמח עומדת ליד הנהר.", "he"),
        ("Ο μύλος είναι δίπλα στο ποτάμι.", "el"),
        ("โรงสีอยู่ริมแม่น้ำ", "th"),
        ("चक्की नदी के किनारे है।", "hi"),
        ("নদীর ধারে একটি কল আছে।", "bn"),
        ("నది పక్కన మిల్లు ఉంది.", "te"),
        ("ஆற்றின் அருகே ஆலை உள்ளது.", "ta"),
        ("წისქვილი მდინარესთან დგას.", "ka"),
        ("Ջրաղացը գետի մոտ է։", "hy"),
        ("Cối xay nằm bên bờ sông.", "vi"),
        ("Phở", "vi"),
        ("The mill of Nguyễn, which stands by the river, was built by the people of the village.", "en"),
        ("12.5 | 13.0 | 14.2", ""),
        ("", ""),
    ],
)
def test_a_script_or_its_letters_tell_a_language(text: str, tag: str) -> None:
    assert written_language(text) == tag


def test_the_code_of_a_country_is_read_as_its_language() -> None:
    assert [primary_tag(tag) for tag in ("jp", "KR", "cz-CZ", "ja", "de-AT")] == ["ja", "ko", "cs", "ja", "de"]


def test_names_of_another_script_and_quotations_do_not_change_the_language() -> None:
    assert written_language("The word 水車 is Japanese for a mill that is driven by the water of a river.") == "en"
    assert (
        written_language("这家磨坊（日语：すいしゃ）在河边，农民把小麦送到那里去磨成面粉，再把面粉卖到城里的市场。" * 2)
        == "zh"
    )
    assert written_language("The mill stands by the river. " * 700 + "Die Mühle steht am Fluss. " * 9000) == "en"


@pytest.mark.usefixtures("fake_model")
def test_rows_of_documents_say_their_language_and_source_code_has_none(bench: Workbench) -> None:
    bench.write(
        {
            "a.md": f"# Mühle\n\n{_german()}",
            "b.html": '<html lang="nl"><p>Molen, 1723.</p></html>',
            "c.py": 'def mill() -> None:\n    """Grind the wheat that is brought by the farmers."""\n',
        }
    )
    bench.ingest()
    rows = bench.store.sql("SELECT uri, lang FROM documents ORDER BY uri").to_pylist()
    assert [row["lang"] for row in rows] == ["de", "nl", ""]


@pytest.mark.usefixtures("fake_model")
def test_code_and_names_of_functions_within_a_page_say_nothing_of_its_language(bench: Workbench) -> None:
    code = "\n\n```js\nfor (const one of the) { if (that.is(not)) { this.will(be); } }\n```\n\n"
    sentences = "组件能够接收任意类型的值，我们可以用它来更新页面。" + "`getCurrentInstanceOfComponent()`" * 2
    bench.write({"zh.md": f"# 插槽\n\n{sentences}{code * 9}", "de.md": f"# Mühle\n\n{_german()}{code * 60}"})
    bench.ingest()
    rows = bench.store.sql("SELECT uri, lang FROM documents ORDER BY uri").to_pylist()
    assert [row["lang"] for row in rows] == ["de", "zh"]


def _german() -> str:
    return " ".join(sentence for sentence, _ in TEXTS["german"])
