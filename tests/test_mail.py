"""Mail: what is read of messages, and what is attached to them."""

from email.message import EmailMessage
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

from hypothesis import given
from hypothesis import strategies as st

from tasks.parse.letter import unique_names
from tasks.parse.mail import attachments


def _mail(subject: str = "Gauges", text: str = "The gauges are here.\n") -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Ann Reed <ann@mill.example>", "bo@mill.example", subject
    mail.set_content(text)
    return mail


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


@given(st.lists(st.text(max_size=20)))
def test_names_of_attachments_are_distinct_and_have_no_folder(names: list[str]) -> None:
    found = [name for name, _ in unique_names([(name, b"") for name in names])]
    assert len({name.lower() for name in found}) == len(names)
    assert all(name.strip() and "/" not in name and "\\" not in name and not name.startswith(".") for name in found)
