"""What the analyser makes of words, and what it must never lose."""
# ruff: noqa: RUF001  Turkish has an i without a dot

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import ConfigError
from docmill.storage.search.keywords.analysis import analyser
from docmill.storage.search.keywords.analysis.analyser import LONGEST_TERM, analyse
from docmill.storage.search.keywords.analysis.folding import fold
from docmill.storage.search.keywords.analysis.separation import PAIR_SIGNS, located_pieces
from tests.kit.drawing import examples


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The ingestion of documents", ["ingest", "document"]),
        ("parseHTTPHeader", ["parsehttphead", "pars", "http", "header"]),
        ("snake_case and __init__", ["snake_cas", "snake", "case", "init"]),
        ("getUserByID2", ["getuserbyid2", "get", "user", "id", "2"]),
        ("utf8 sha256", ["utf8", "utf", "8", "sha256", "sha", "256"]),
        ("URLs PDFs", ["url", "pdf"]),
        ("a hash deadbeef01ab23cd", ["hash", "deadbeef01ab23cd"]),
        ("v3.8.8 costs 10,000", ["3.8.8", "3", "8", "8", "cost", "10000"]),
        ("résumé resume Müller STRASSE straße", ["resum", "resum", "muller", "strass", "strass"]),
        ("Øresund Łódź Đà ğ œuvre", ["oresund", "lodz", "da", "g", "oeuvr"]),
        ("İstanbul IĞDIR ığdır igdir", ["istanbul", "igdir", "igdir", "igdir"]),
        ("كَتَبَ الطالبُ سـلام ـــ", ["كتب", "طالب", "سلام"]),
        ("שָׁלוֹם שלום", ["שלו", "לום", "שלו", "לום"]),
        ("הבית אב", ["הבי", "בית", "אב"]),
        ("của cua là Đường", ["cua", "của", "cua", "la", "duong", "đường"]),
        ("ভাষা თბილისი", ["ভাষ", "াষা", "თბი", "ბილ", "ილი", "ლის", "ისი"]),
        ("۱۹۴۵ ๑๒.๕ १९४७", ["1945", "12.5", "12", "5", "1947"]),
        ("کتابی كتابي", ["كتاب", "كتاب"]),
        ("C++, C# and title#", ["c++", "c#", "titl"]),
        ("os.path.join(a)", ["os.path.join", "os", "path", "join"]),
        ("settings.toml. Next", ["settings.toml", "set", "toml", "next"]),
        ("1918-1919", ["1918-1919", "1918", "1919"]),
        ("on 2024-05-01", ["2024-05-01", "20240501", "2024", "05", "01"]),
        ("CVE-2024-1234", ["cve-2024-1234", "cve", "2024", "1234"]),
        ("a well-known --flag", ["well", "known", "flag"]),
        ("die E-Mail-Adresse", ["die", "email", "e", "mail", "adress"]),
        ("10.000, 1.234.567", ["10.000", "10000", "10", "000", "1.234.567", "1234567", "1", "234", "567"]),
        ("12\u202f345 3’500 12\u00a0kg", ["12345", "3500", "12", "kg"]),
        (
            "978-3-16-148410-0 1-2",
            ["978-3-16-148410-0", "9783161484100", "978", "3", "16", "148410", "0", "1-2", "1", "2"],
        ),
        ("E-mail, x-ray, state-of-the-art", ["email", "e", "mail", "xray", "x", "ray", "state", "art"]),
        ("infor-\nmation, ware\u00ad\nhouse, Jean-\nPaul", ["inform", "infor", "mation", "warehous", "jean", "paul"]),
        ("- a\n-\nb-\n", ["b"]),
        ("U.S.A. USA, I.T. and it", ["usa", "usa", "it"]),
        ("e.g. a Ph.D. or PhD", ["eg", "e", "g", "phd", "ph", "phd", "ph"]),
        ("The WHO and the IT of it, who?", ["who", "it"]),
        ("WHO", ["who"]),
        ("| IT | 12 |", ["it", "12"]),
        ("WHAT IS IT?\nIT is", ["it"]),
        ("snow OR ice AND NOT rain, FROM here", ["snow", "ice", "rain"]),
        ("AT&T's I/O, ci/cd", ["at&t", "at", "i/o", "ci/cd", "ci", "cd"]),
        ("and/or, a/b/c, &amp; /usr/bin", ["b", "c", "amp", "usr", "bin"]),
        ("snow-depth.md", ["snow-depth.md", "snow", "depth.md", "depth", "md"]),
        ("5kg, 200 ms", ["5kg", "5", "kg", "200", "ms"]),
        ("11.2V of 12%", ["11.2v", "v", "11.2", "11", "2", "12%", "12"]),
        ("1.2.3rc1", ["1.2.3rc1", "1", "2", "3rc1"]),
        ("v2.0.1-beta.1", ["v2.0.1-beta.1", "2.0.1", "2", "0", "1", "beta.1", "beta", "1"]),
        ("1,000-2,000", ["1000", "2000"]),
        ("get_user.firstName", ["get_user.firstname", "get_us", "get", "user", "firstnam", "first", "name"]),
        ("don't the company's", ["compani"]),
        ("自然言語 水", ["自然", "然言", "言語", "自", "然", "言", "語", "水"]),
        ("ビタミンCのパン", ["ビタ", "タミ", "ミン", "ビタミン", "c", "のパ", "パン"]),
        ("ภาษา 학교에서 ไป", ["ภาษ", "าษา", "학교", "교에", "에서", "ไป"]),
        ("뱀은 학교를 물", ["뱀은", "뱀", "학교", "교를", "학", "물"]),
        ("Новый ёлка, русские", ["нов", "елк", "русск"]),
        ("हिन्दी हिंदी العربية", ["हिंद", "हिंद", "عرب"]),
        ("सम्बन्ध संबंध चाँद चांद ज़रूर जरूर उन्नति", ["संबंध", "संबंध", "चांद", "चांद", "जरूर", "जरूर", "उन्नत"]),
        ("“quoted”—dash… ﬁne \uff21\uff22 co\u00adoperate", ["quot", "dash", "fine", "ab", "cooper"]),
    ],
)
def test_words_become_these_terms(text: str, terms: list[str]) -> None:
    assert analyse(text) == terms


@pytest.mark.parametrize("text", ["", "   ", "the and of", "😀 ❤️ 👨‍👩‍👧", "_ __ ...", "\u0301", "\ufe0f"])
def test_a_text_without_content_has_no_terms(text: str) -> None:
    assert analyse(text) == []


def test_a_language_has_its_stems_and_stop_words() -> None:
    assert analyse("les écoles françaises d'été", "french") == ["ecol", "franc"]
    assert analyse("die Häuser für où", "german") == ["haus", "ou"]
    assert analyse("The Häuser", "none") == ["the", "hauser"]


def test_an_unknown_language_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="'klingon'; use none, arabic, "):
        analyse("text", "klingon")


def test_composed_and_decomposed_accents_are_the_same_word() -> None:
    assert analyse(unicodedata.normalize("NFD", "naïve Ångström")) == analyse("naïve Ångström")


def test_a_word_is_found_however_its_accents_are_typed() -> None:
    for language, word in {
        "french": "résumé",
        "german": "Brücke",
        "spanish": "canciones",
        "portuguese": "canções",
    }.items():
        bare = unicodedata.normalize("NFD", word).encode("ascii", "ignore").decode()
        assert set(analyse(bare, language)) <= set(analyse(word, language)), word


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("בית", "הבית"),
        ("משרד", "ולמשרדים"),
        ("বাংলা", "বাংলায়"),
        ("తెలుగు", "తెలుగులో"),
        ("თბილისი", "თბილისის"),
        ("ถนน", "ปิดถนน"),
    ],
)
def test_a_word_without_a_stemmer_is_found_within_its_forms(word: str, form: str) -> None:
    assert set(analyse(word)) <= set(analyse(form))
    assert set(analyse(word)) <= set(analyse(form, "english+german"))


def test_a_long_run_is_found_by_its_beginning() -> None:
    assert analyse("x" * 5000) == ["x" * LONGEST_TERM]


@examples(100)
@given(st.text())
def test_any_text_gives_terms_that_are_not_empty(text: str) -> None:
    assert all(analyse(text))


@examples(100)
@given(st.text(), st.text())
def test_a_text_is_analysed_line_by_line(left: str, right: str) -> None:
    left = left.rstrip("-\u00ad")  # a word goes on behind these
    assert analyse(f"{left}\n{right}") == analyse(left) + analyse(right)


@examples(100)
@given(st.text())
def test_a_piece_is_where_it_is_in_its_text(text: str) -> None:
    for start, piece in located_pieces(text):
        own = text[start : start + len(piece)]
        assert len(own) == len(piece)
        assert fold(own[0]) == fold(piece[0]) or piece[0] in PAIR_SIGNS.values()


@given(st.text(st.characters(max_codepoint=126), max_size=24))
def test_texts_in_ascii_have_the_same_tokens_by_either_pattern(text: str) -> None:
    whole = [one.groupdict() for one in analyser._compiled(analyser._TOKEN).finditer(text)]
    assert [{"run": None, "sounds": None, **one.groupdict()} for one in analyser._ascii_token().finditer(text)] == whole
