"""Mail: what is read of messages, and what is attached to them."""

from email.message import EmailMessage
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.mail.messages import attachments
from docmill.tasks.parse.mail.mime import decoded, unique_names
from tests.kit.drawing import examples
from tests.kit.writers import outlook


def _mail(subject: str = "Gauges", text: str = "The gauges are here.\n") -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Ann Reed <ann@mill.example>", "bo@mill.example", subject
    mail.set_content(text)
    return mail


def _read(data: bytes, name: str = "eml") -> Parsed:
    return parse(data, FileType(name), ParseOptions())


def _kinds(parsed: Parsed) -> list[tuple[str, str]]:
    return [(one.kind, parsed.text[one.start_char : one.end_char]) for one in parsed.elements[2:]]


def test_attachments_come_in_order_under_safe_and_distinct_names() -> None:
    mail = _mail()
    for name in ("a.txt", "../../etc/passwd", "A.txt", "C:\\temp\\Größe.txt", "a.txt"):
        mail.add_attachment(f"in {name}\n", filename=name)
    mail.add_attachment(b"\x89PNG", "image", "png")
    names = [name for name, _ in attachments(mail.as_bytes(), "eml")]
    assert names == ["a.txt", "passwd", "A-2.txt", "Größe.txt", "a-3.txt", "attachment.png"]
    assert attachments(mail.as_bytes(), "eml")[1][1].split() == b"in ../../etc/passwd".split()


def test_an_enclosed_message_is_a_mail_of_its_own() -> None:
    inner = _mail("First reading: 3/4")
    inner.add_attachment(b"1,2\n", "text", "csv", filename="readings.csv")
    outer = MIMEMultipart()
    outer["Subject"] = "Forwarded"
    outer.attach(MIMEText("See below."))
    outer.attach(MIMEMessage(inner))
    ((name, data),) = attachments(outer.as_bytes(), "eml")
    assert name == "First reading 3-4.eml"
    assert attachments(data, "eml") == [("readings.csv", b"1,2\n")]


def _with_logo(shown: str = "cid:logo@mill") -> EmailMessage:
    """Return a mail whose HTML shows a picture, and to which a plan and another picture are attached."""
    mail = _mail()
    mail.add_alternative(f'<p>The gauges are here.</p><img src="{shown}">', subtype="html")
    body = mail.get_payload()[1]  # type: ignore[index]
    body.add_related(b"\x89PNG logo", "image", "png", cid="<logo@mill>", filename="logo.png")  # type: ignore[union-attr]
    mail.add_attachment(b"a plan", "application", "pdf", filename="plan.pdf")
    mail.add_attachment(b"\x89PNG scan", "image", "png", filename="scan.png")
    return mail


def test_a_picture_that_the_text_of_a_mail_shows_is_no_attachment() -> None:
    data = _with_logo().as_bytes()
    assert [name for name, _ in attachments(data, "eml")] == ["plan.pdf", "scan.png"]
    assert [name for name, _ in attachments(data, "eml", pictures=True)] == ["plan.pdf", "scan.png", "logo.png"]
    parsed = _read(data)
    assert parsed.metadata["attachments"] == ["plan.pdf", "scan.png"]
    assert "logo.png" not in parsed.text
    unshown = _with_logo("https://mill.example/logo.png").as_bytes()
    assert [name for name, _ in attachments(unshown, "eml")] == ["logo.png", "plan.pdf", "scan.png"]
    again = b"From ann Mon Jun 01 10:00:00 2009\n" + data
    assert [name for name, _ in attachments(again, "mbox")] == ["plan.pdf", "scan.png"]


def test_a_picture_that_an_outlook_mail_shows_is_no_attachment() -> None:
    subject, html, name, content, content_id = 0x0037, 0x1013, 0x3707, outlook.CONTENT, 0x3712
    files: list[outlook.Properties] = [
        {name: "logo.png", content: b"\x89PNG", content_id: "logo@mill"},
        {name: "plan.pdf", content: b"a plan"},
    ]
    mail = outlook.message({subject: "Gauges", html: b'<p>Here.</p><img src="cid:logo@mill">'}, attached=files)
    data = outlook.as_file(mail)
    assert [one for one, _ in attachments(data, "msg")] == ["plan.pdf"]
    assert [one for one, _ in attachments(data, "msg", pictures=True)] == ["plan.pdf", "logo.png"]
    outer = outlook.message({subject: "Forward"}, attached=[mail])
    ((_, enclosed),) = attachments(outlook.as_file(outer), "msg")
    assert [one for one, _ in attachments(enclosed, "eml")] == ["plan.pdf"]


def test_all_messages_of_an_mbox_give_their_attachments() -> None:
    box = b""
    for subject in ("one", "two"):
        mail = _mail(subject)
        mail.add_attachment(subject.encode(), "application", "pdf", filename="plan.pdf")
        box += b"From ann@mill.example Mon Jun 01 10:00:00 2026\n" + mail.as_bytes() + b"\n"
    assert attachments(box, "mbox") == [("plan.pdf", b"one"), ("plan-2.pdf", b"two")]


def test_what_is_no_mail_has_no_attachments() -> None:
    nested = b"Content-Type: multipart/mixed; boundary=b\n\n--b\n" * 3_000
    assert [attachments(data, kind) for kind in ("eml", "msg") for data in (b"", b"\0" * 99, nested)] == [[]] * 6


@examples(100)
@given(st.lists(st.text(max_size=20)))
def test_names_of_attachments_are_distinct_and_have_no_folder(names: list[str]) -> None:
    found = [name for name, _ in unique_names([(name, b"") for name in names])]
    assert len({name.lower() for name in found}) == len(names)
    assert all(name.strip() and "/" not in name and "\\" not in name and not name.startswith(".") for name in found)


def test_a_message_enclosed_in_an_outlook_message_is_a_mail_with_its_own_attachments() -> None:
    file: outlook.Properties = {outlook.LONG_FILE: "a.csv", outlook.CONTENT: b"1,2"}
    inner = outlook.message({outlook.SUBJECT: "Ärger", outlook.BODY: "Inner."}, attached=[file], header=24)
    outer = outlook.as_file(outlook.message({outlook.SUBJECT: "Out"}, attached=[file, inner, file]))
    (_, first), (name, data), (last, _) = attachments(outer, "msg")
    assert (first, name, last) == (b"1,2", "Ärger.eml", "a-2.csv")
    assert attachments(outer, "msg")[1][1] == data
    assert attachments(data, "eml") == [("a.csv", b"1,2")]
    assert "Inner." in _read(data).text


def test_an_outlook_message_of_a_code_page_is_no_mojibake() -> None:
    text = "格式測試 in a message"
    data = outlook.as_file(
        outlook.message({outlook.CODEPAGE: 950, outlook.SUBJECT: text, outlook.BODY: text}, charset="big5")
    )
    assert _read(data, "msg").text == f"# {text}\n\n{text}"


def test_a_message_locked_with_a_key_is_rejected_as_encrypted() -> None:
    pgp = b"Subject: s\nContent-Type: multipart/encrypted; protocol=pgp; boundary=b\n\n--b\n\nx\n--b--"
    smime = b"Subject: s\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data\n\nx"
    note = outlook.as_file(outlook.message({outlook.SUBJECT: "s", 0x001A: "IPM.Note.SMIME"}))
    for data, name in ((pgp, "eml"), (smime, "eml"), (note, "msg")):
        with pytest.raises(Rejected, match=r"encrypted: .*receiver's key"):
            _read(data, name)
        assert attachments(data, name) == []


@pytest.mark.parametrize(
    ("head", "text"),
    [
        ("=?utf-8?Q?a_=C3?= =?utf-8?Q?=A9?= b", "a é b"),
        ("=?iso-2022-jp?B?GyRCRnxLXBsoQg==?=", "日本"),
        ("plain =?utf-8?B?w6k=?= =?iso-8859-1?Q?=E9?=", "plain éé"),
        ("=?unknown?Q?x?= =?utf-8?B?a?=", "x=?utf-8?B?a?="),
        ("\udcc3\udca9t\udcc3\udca9", "été"),
        ("=?utf-8?Q?" * 3_000, ("=?utf-8?Q?" * 3_000)[:20_000]),
    ],
)
def test_heads_are_decoded(head: str, text: str) -> None:
    assert decoded(head) == text


@pytest.mark.parametrize("kind", ["text/plain", "text/plain; charset=iso-8859-1", "text/plain; charset=us-ascii"])
def test_a_head_of_bare_bytes_is_in_the_encoding_of_its_mail(kind: str) -> None:
    head = f"From: J\u00fcrgen <j@mill.example>\r\nSubject: Gr\u00fc\u00dfe\r\nContent-Type: {kind}"
    body = "Sch\u00f6ne Gr\u00fc\u00dfe aus K\u00f6ln, dies ist ein l\u00e4ngerer Text f\u00fcr M\u00e4nner.\r\n"
    parsed = _read(f"{head}\r\n\r\n{body}".encode("latin-1"))
    assert (parsed.title, parsed.metadata["author"]) == ("Gr\u00fc\u00dfe", "J\u00fcrgen")


def test_a_body_in_html_is_left_for_plain_text_that_says_more() -> None:
    mail = _mail(text="All of the news in many words.\n")
    mail.add_alternative("<p>News</p>", subtype="html")
    assert _kinds(_read(mail.as_bytes())) == [("paragraph", "All of the news in many words.")]


def test_a_reply_below_and_above_quotations_stays_apart_from_them() -> None:
    text = "Above.\n\nAm 3. Mai schrieb Bo:\n> one\n> > two\n\nBetween.\n\n> three\n\n-----Original Message-----\nold\n"
    assert _kinds(_read(_mail(text=text).as_bytes())) == [
        ("paragraph", "Above."),
        ("quote", "> Am 3. Mai schrieb Bo:\n> one"),
        ("quote", "> > two"),
        ("paragraph", "Between."),
        ("quote", "> three"),
        ("quote", "> -----Original Message-----\n> old"),
    ]


def test_a_page_is_cut_where_the_head_of_an_earlier_mail_stands() -> None:
    mail = _mail()
    mail.set_content("<p>New.</p><p>Ann<br>From: Bo<br>Sent: Monday<br>To: Ann</p><p>Old.</p>", subtype="html")
    assert _kinds(_read(mail.as_bytes())) == [
        ("paragraph", "New."),
        ("paragraph", "Ann"),
        ("quote", "> From: Bo\n> Sent: Monday\n> To: Ann"),
        ("quote", "> Old."),
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_a_message_stored_in_another_encoding_is_read(encoding: str) -> None:
    data = _mail().as_string().encode(encoding)
    assert detect_file_type("x", data) == FileType("eml")
    assert _read(data).title == "Gauges"


@pytest.mark.parametrize("line", ["-- \n", "> " * 40 + "x\n", "From: a\n", "a\nb wrote:\n> c\n", "=?utf-8?q?\n "])
def test_hostile_mail_is_read_in_time(line: str) -> None:
    assert _read(b"Subject: s\nTo: a\n\nx" + line.encode() * 20_000).title == "s"


def test_what_stands_in_an_outlook_message_does_not_change_what_it_is() -> None:
    inside: outlook.Properties = {outlook.LONG_FILE: "a.doc", outlook.CONTENT: "WordDocument".encode("utf-16-le")}
    data = outlook.as_file(outlook.message({outlook.SUBJECT: "s"}, attached=[inside]))
    assert detect_file_type("a.doc", data) == FileType("msg")


def test_pictures_too_small_for_a_word_are_no_documents() -> None:
    mail = _mail()
    for side in (1, 8, 11, 12, 300):
        png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + side.to_bytes(4, "big") + (300).to_bytes(4, "big") + b"\x08\x02"
        gif = b"GIF89a" + (300).to_bytes(2, "little") + side.to_bytes(2, "little") + b"\0" * 20
        mail.add_attachment(png, "image", "png", filename=f"{side}.png")
        mail.add_attachment(gif, "image", "gif", filename=f"{side}.gif")
    found = [name for name, _ in attachments(mail.as_bytes(), "eml")]
    assert found == ["12.png", "12.gif", "300.png", "300.gif"]


def test_the_name_of_an_attachment_may_be_in_bare_bytes() -> None:
    head = "From: a@mill.example\nTo: b@mill.example\nSubject: Plan\nContent-Type: multipart/mixed; boundary=x\n\n"
    part = '--x\nContent-Type: application/pdf; name="M\u00fchle.pdf"\nContent-Disposition: attachment\n\n%PDF\n--x--\n'
    assert _read((head + part).encode()).metadata["attachments"] == ["M\u00fchle.pdf"]


def test_keys_and_signatures_in_letters_are_apart_from_the_text_that_they_sign() -> None:
    armour = "-----BEGIN PGP SIGNATURE-----\n\n" + "iQEzBAEBCAAdFiEE\n" * 15 + "=abcd\n-----END PGP SIGNATURE-----"
    text = f"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nThe stone is here.\n\n-- \nAda\n{armour}\n"
    data = f"From: a@mill.example\nSubject: Stone\n\n{text}".encode()
    parsed = parse(data, FileType("eml"), ParseOptions())
    said = [parsed.text[one.start_char : one.end_char] for one in parsed.elements if one.kind == "paragraph"]
    assert said[1:] == ["The stone is here."]
    assert "iQEzBAEBCAAdFiEE" in parsed.text


def test_a_mail_that_names_no_boundary_of_its_parts_is_text() -> None:
    mail = b"From: a@x.org\nSubject: Mill\nContent-Type: multipart/mixed\n\nThe wheel turns.\n"
    assert parse(mail, FileType("eml"), ParseOptions()).text.endswith("From: a@x.org\n\nThe wheel turns.")
