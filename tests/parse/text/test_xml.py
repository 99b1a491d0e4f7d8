"""XML of the trades: DocBook, DITA, TEI, JATS and feeds, whose tables, heads and pages each write in their way."""

import pytest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions


def read(text: str) -> Parsed:
    return parse(text.encode(), FileType("xml"), ParseOptions())


def found(parsed: Parsed) -> list[tuple[str, int, str]]:
    return [(one.kind, one.level, parsed.text[one.start_char : one.end_char]) for one in parsed.elements]


CALS = """<{0}><title>Sizes</title><tgroup cols="3"><colspec colname="a"/><colspec colname="b"/><colspec colname="c"/>
<thead><row><entry>A</entry><entry namest="b" nameend="c">B</entry></row></thead><tbody>
<row><entry morerows="1">1</entry><entry><para>2</para><para><link href="x.xml">3</link></para></entry><entry>4</entry>
</row><row><entry>5</entry><entry>6</entry></row></tbody></tgroup></{0}>"""
CALS_CELLS = [["A", "B", "B"], ["1", "2 3", "4"], ["1", "5", "6"]]
TEI = """<table><head>Sizes</head><row role="label"><cell>A</cell><cell>B</cell></row>
<row><cell>1</cell><cell>2</cell></row></table>"""
SIMPLE = """<simpletable><title>Sizes</title><sthead><stentry>A</stentry><stentry>B</stentry></sthead>
<strow><stentry>1</stentry><stentry>2</stentry></strow></simpletable>"""


@pytest.mark.parametrize(
    ("table", "cells"),
    [
        (CALS.format("table"), CALS_CELLS),
        (CALS.format("informaltable"), CALS_CELLS),
        (TEI, [["A", "B"], ["1", "2"]]),
        (SIMPLE, [["A", "B"], ["1", "2"]]),
    ],
)
def test_tables_of_every_kind_keep_their_cells(table: str, cells: list[list[str]]) -> None:
    parsed = read(f"<doc><sect><title>One</title><p>Words before it.</p>{table}<p>And after it.</p></sect></doc>")
    assert [text for _, _, text in found(parsed)][:3] == ["# One", "Words before it.", "Sizes"]
    drawn = parsed.elements[3]
    assert (drawn.kind, drawn.attributes["cells"], drawn.attributes["header_rows"]) == ("table", cells, 1)
    assert drawn.attributes.get("links", []) == ([{"text": "3", "url": "x.xml"}] if "x.xml" in table else [])


@pytest.mark.parametrize(
    "head",
    [
        "<info><title>Mills</title><author><name>Ann Reed</name></author><pubdate>2 May 2020</pubdate></info>",
        "<front><article-meta><title-group><article-title>Mills</article-title></title-group></article-meta></front>",
        "<teiHeader><fileDesc><titleStmt><title>Mills</title><author>Ann Reed</author></titleStmt></fileDesc>"
        "</teiHeader>",
    ],
)
def test_the_title_in_a_head_stands_above_all_sections(head: str) -> None:
    parsed = read(f"<article>{head}<sec><title>Sails</title><p>They turn in the wind.</p></sec></article>")
    titles = [(level, text) for kind, level, text in found(parsed) if kind == "title"]
    assert titles == [(1, "# Mills"), (2, "## Sails")]
    assert parsed.title == "Mills"
    assert parsed.metadata.get("author", "") == ("Ann Reed" if "author" in head else "")
    assert parsed.metadata.get("created", "") == ("2020-05-02" if "pubdate" in head else "")


def test_words_after_a_list_stand_after_it_and_lists_below_are_no_deeper() -> None:
    inner = "<list><item>one</item></list>"
    parsed = read(
        f"<d><p>Check <ref target='https://x.org'>all</ref>: {inner} then go.</p>"
        f"<list>Of: <item>two</item></list>{inner}</d>"
    )
    assert found(parsed) == [
        ("paragraph", 0, "Check all:"),
        ("list_item", 1, "- one"),
        ("paragraph", 0, "then go."),
        ("paragraph", 0, "Of:"),
        ("list_item", 1, "- two"),
        ("list_item", 1, "- one"),
    ]
    assert parsed.elements[0].attributes["links"] == [{"text": "all", "url": "https://x.org"}]


def test_a_page_inside_of_a_feed_keeps_its_headings_lists_and_code() -> None:
    page = "<p>Some <b>words</b>.</p><h2>How</h2><ul><li>one</li></ul><pre>x = 1</pre>".replace("<", "&lt;")
    item = f"<item><title>Post</title><link>https://x.org/1</link><description>&lt;p>Short.&lt;/p></description><body>{page}</body></item>"
    parsed = read(f"<rss><channel><title>Feed</title>{item}</channel></rss>")
    assert found(parsed) == [
        ("title", 1, "# Feed"),
        ("title", 2, "## Post"),
        ("text", 0, "link: https://x.org/1\ndescription: Short."),
        ("paragraph", 0, "Some words."),
        ("title", 3, "### How"),
        ("list_item", 1, "- one"),
        ("code", 0, "```\nx = 1\n```"),
    ]
    assert parsed.elements[2].attributes["path"] == "/rss/channel/item"


def test_works_that_are_cited_are_paragraphs_with_names_and_words_apart() -> None:
    name = "<name><surname>{}</surname><given-names>{}</given-names></name>".format
    mixed = (
        f"<mixed-citation><person-group>{name('Reed', 'A')}, {name('Lind', 'B')}</person-group>. "
        "<article-title>On mills</article-title>. <source>Mill News</source>. 2020.</mixed-citation>"
    )
    cited = f"{name('Reed', 'A')}<article-title>On sails</article-title><year>2021</year>"
    element = f"<element-citation>{cited}</element-citation>"
    refs = f"<ref><label>1</label>{mixed}</ref><ref><label>2</label>{element}</ref>"
    parsed = read(
        f"<article><body><p>Some words of it.</p></body><ref-list><title>Works</title>{refs}</ref-list></article>"
    )
    assert [text for _, _, text in found(parsed)] == [
        "Some words of it.",
        "# Works",
        "1 Reed A, Lind B. On mills. Mill News. 2020.",
        "2 Reed A On sails 2021",
    ]


def test_labels_stand_before_what_they_number() -> None:
    figure = "<fig><label>Fig 1</label><caption><p>An old mill.</p></caption></fig>"
    cells = "<tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr>"
    table = f"<table-wrap><label>Table 1</label><table>{cells}</table></table-wrap>"
    code = "<fig><label>Code 1</label><programlisting>x = 1</programlisting></fig>"
    sections = (
        f"<sec><label>2.</label><title>Sails</title><p>They turn in the wind.</p>{figure}{table}{code}<p>End.</p></sec>"
    )
    assert [text for _, _, text in found(read(f"<article>{sections}</article>"))] == [
        "# 2. Sails",
        "They turn in the wind.",
        "Fig 1 An old mill.",
        "Table 1",
        "| A | B |\n| --- | --- |\n| 1 | 2 |",
        "Code 1",
        "```\nx = 1\n```",
        "End.",
    ]


def test_of_a_drawing_the_words_are_read() -> None:
    drawing = "<style>.a { fill: red }</style><title>Mill</title><path d='M0 0L10 10'/><text x='1'>Sail</text>"
    parsed = read(f"<svg xmlns='http://www.w3.org/2000/svg' width='10'>{drawing}</svg>")
    assert parsed.text == "# Mill\n\ntext: Sail"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("<tex-math>a^2</tex-math><math><mi>a</mi><mn>2</mn></math>", "$a^2$"),
        (r"<tex-math>\documentclass{x} \begin{document}$$a^2$$\end{document}</tex-math>", "$a^2$"),
        ("<math><mi>a</mi><mo>+</mo><mi>b</mi></math>", "$a + b$"),
    ],
)
def test_a_formula_is_said_once(formula: str, text: str) -> None:
    parsed = read(f"<d><p>Let <inline-formula><alternatives>{formula}</alternatives></inline-formula> be.</p></d>")
    assert parsed.text == f"Let {text} be."


def test_lists_are_numbered_terms_stand_before_what_they_mean_and_titles_of_figures_are_captions() -> None:
    ordered = "<orderedlist><listitem><para>one</para></listitem><listitem><para>two</para></listitem></orderedlist>"
    term = "<variablelist><varlistentry><term>Sail</term><listitem><para>It turns.</para></listitem></varlistentry>"
    figure = "<figure><title>A mill</title></figure><code language='python'>x = 1\n  y</code>"
    parsed = read(
        f"<doc><sect><title>One</title><para>Some words of prose.</para>{ordered}{term}</variablelist>"
        f"{figure}</sect></doc>"
    )
    assert [text for _, _, text in found(parsed)] == [
        "# One",
        "Some words of prose.",
        "1. one",
        "2. two",
        "Sail: It turns.",
        "A mill",
        "```python\nx = 1\n  y\n```",
    ]


def _text(source: str) -> str:
    return parse(source.encode(), FileType("xml"), ParseOptions()).text


@pytest.mark.parametrize("name", ["quote", "note", "abstract"])
def test_fields_in_an_element_called_like_a_paragraph_are_fields(name: str) -> None:
    records = "".join(
        f"<{name}><sign>{sign}</sign><price>{price}</price></{name}>" for sign, price in (("RYE", 7), ("OAT", 5))
    )
    assert _text(f"<all>{records}</all>") == "sign: RYE\nprice: 7\n\nsign: OAT\nprice: 5"


def test_an_abstract_in_parts_names_them_and_the_title_is_that_of_the_article() -> None:
    parts = (
        '<AbstractText Label="AIMS">Wheels turn.</AbstractText><AbstractText Label="RESULTS">They did.</AbstractText>'
    )
    article = (
        f"<Journal><Title>Mills</Title></Journal><ArticleTitle>On wheels</ArticleTitle><Abstract>{parts}</Abstract>"
    )
    parsed = parse(f"<Set><Article>{article}</Article></Set>".encode(), FileType("xml"), ParseOptions())
    assert parsed.title == "On wheels"
    assert parsed.text == "# On wheels\n\nJournal.Title: Mills\n\nAIMS: Wheels turn.\n\nRESULTS: They did."


def test_pages_in_a_dump_of_a_wiki_are_read_as_such() -> None:
    text = "The '''wheel''' turns.\n\n== Care ==\n* oil\n* rest\n"
    old, new = (f"<revision><format>text/x-wiki</format><text>{one}</text></revision>" for one in ("Old.", text))
    page = f"<page><title>Wheel</title>{old}{new}</page>"
    source = f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">{page}</mediawiki>'.encode()
    assert detect_file_type("dump.xml", source) == FileType("mediawiki")
    parsed = parse(source, FileType("mediawiki"), ParseOptions())
    assert (parsed.title, parsed.text) == ("Wheel", "# Wheel\n\nThe wheel turns.\n\n## Care\n\n- oil\n- rest")


def test_html_in_the_values_of_attributes_has_no_tags() -> None:
    page = "&lt;p&gt;Oil it.&lt;/p&gt;&lt;ul&gt;&lt;li&gt;daily&lt;/li&gt;&lt;/ul&gt;"
    rows = f'<row Id="1" Body="{page}"/><row Id="2" Body="&lt;p&gt;No.&lt;/p&gt;"/>'
    assert _text(f"<posts>{rows}</posts>") == "Id: 1\n\nOil it.\n\n- daily\n\nId: 2\nBody: No."


def test_terms_of_an_index_are_no_words_of_the_text() -> None:
    term = "<indexterm><primary>wheel</primary></indexterm>"
    parsed = read(f"<article><para>The mill{term} turns.</para>{term}<para>It grinds.</para></article>")
    assert parsed.text == "The mill turns.\n\nIt grinds."


def test_steps_of_a_task_are_counted_and_reuse_the_words_of_others() -> None:
    info = "<info><p>With the <filepath conref='#task/place'/> open.</p></info>"
    steps = f"<step><cmd>Oil <filepath id='place'>gate/2</filepath>.</cmd></step><step><cmd>Turn it.</cmd>{info}</step>"
    titles = "<titlealts><navtitle>Turning</navtitle></titlealts>"
    parsed = read(
        f"<task id='task'><title>Turn the wheel</title>{titles}<taskbody><steps>{steps}</steps></taskbody></task>"
    )
    assert parsed.text == "# Turn the wheel\n\n1. Oil gate/2.\n2. Turn it.\n\nWith the gate/2 open."


def test_tables_of_choices_are_tables() -> None:
    head = "<chhead><choptionhd>Grain</choptionhd><chdeschd>Stone</chdeschd></chhead>"
    row = "<chrow><choption>rye</choption><chdesc><codeph>a 2</codeph> coarse</chdesc></chrow>"
    parsed = read(f"<task><title>Grind</title><taskbody><choicetable>{head}{row}</choicetable></taskbody></task>")
    assert parsed.elements[-1].attributes["cells"] == [["Grain", "Stone"], ["rye", "a 2 coarse"]]


def test_words_that_stand_out_by_themselves_are_paragraphs_and_items_without_a_label() -> None:
    items = "<ol><li><b>Wheels</b><p>They turn without end.</p></li><li><b>Stones</b><p>They grind.</p></li></ol>"
    picture = "<mediaobject><textobject><phrase>The old mill</phrase></textobject></mediaobject>"
    parsed = read(f"<article><title>Mills</title><p>Of all the mills.</p>{items}{picture}</article>")
    drawn = ["# Mills", "Of all the mills.", "1. Wheels", "They turn without end.", "2. Stones", "They grind."]
    assert [text for _, _, text in found(parsed)] == [*drawn, "The old mill"]


def test_terms_of_an_index_in_tei_are_no_words_of_the_text_and_readings_are_in_brackets() -> None:
    index = "<index><term>Ulm</term><index><term>mills</term></index></index>"
    parsed = read(f"<TEI><p>{index}The mill <ruby><rb>\u6f22</rb><rp>(</rp><rt>kan</rt></ruby> turns.</p></TEI>")
    assert parsed.text == "The mill \u6f22(kan) turns."


def test_readings_in_a_wiki_are_in_brackets() -> None:
    page = "It is <ruby>\u6f22<rp>(</rp><rt>kan</rt><rp>)</rp></ruby> here."
    assert parse(page.encode(), FileType("mediawiki"), ParseOptions()).text == "It is \u6f22(kan) here."
