"""Mail bodies: drawn with new text separate from quoted history."""

import re
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from lxml import etree

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.mail.mime import Body
from docmill.tasks.parse.markup.html.hypertext import draw_tree, page_tree
from docmill.tasks.parse.pictures.addresses import Loader, of_data_uri
from docmill.tasks.parse.plain_text import drawn_tables

_ITEM = re.compile(r"[ \t]*([-*•·–]|\(?\d{1,3}[.)])[ \t]+(?=\S)")
_BULLET = re.compile(r"[•·]\s*(?=\S)")
_BEGIN, _END = "\ue00c", "\ue00d"  # private-use characters: paragraphs inserted where history begins and ends
_QUOTING = etree.XPath(
    "//blockquote[@type='cite'] | //*[contains(@class, 'gmail_quote')] | //*[contains(@class, 'yahoo_quoted')]"
    " | //*[contains(@class, 'moz-cite-prefix')]"
)
_DIVIDING = etree.XPath("//*[@id='divRplyFwdMsg' or @id='appendonsend' or @class='OutlookMessageHeader']")
_MIN_SHARE = 0.5
"""Share of plain text's words that HTML must exceed; below it, the HTML is taken for a note that refers to the text."""
_MIN_ITEMS = 2  # a single dash or number in a text is not a list
_MAX_CUT = 1_000
"""Characters of a following element in which header lines are searched: header lines are short, an article is not."""
_QUOTED = re.compile(r"(?:>[ \t]{0,3}){1,50}")
_ORIGINAL = re.compile(
    r"-{2,}[ \t]*(?:original message|original appointment|ursprüngliche nachricht|message d'origine|mensaje original"
    r"|messaggio originale|forwarded message|weitergeleitete nachricht|forwarded by)|begin forwarded message:",
    re.IGNORECASE,
)
_HEAD = r"[*_]{{0,2}}(?:{}):[*_]{{0,2}}(?:\s|$)"
_FROM = re.compile(_HEAD.format("from|von|de|da|van|från|fra|发件人"), re.IGNORECASE)
_OTHERS = "sent|date|to|cc|subject|gesendet|datum|an|betreff|envoyé|à|objet|enviado|fecha|para|asunto|inviato|oggetto"
_OTHER = re.compile(_HEAD.format(_OTHERS + "|发送时间|收件人|主题"), re.IGNORECASE)
_WROTE = re.compile(
    r"\b(?:wrote|writes|schrieb|écrit|escribió|escreveu|scritto|skrev|schreef)\b.{0,60}:$|写道[::]$", re.I
)
_DATED = re.compile(r".*\d.*[:>]$")
_OPENING = re.compile(r"\s*(?:On|Am|Le|El|Em|Il|Op|Den|På)\s.{0,60}\d")  # "On Monday, 3 June 2019, Ann"
_SIGNATURE = re.compile(r"--[ \t]*|_{20,}")
_ARMOUR, _SIGNED_TEXT, _ARMOUR_END = "-----BEGIN PGP ", "-----BEGIN PGP SIGNED MESSAGE-----", "-----END PGP "
"""Lines around a key or a signature in letters, and above a signed text. Source: RFC 9580, sections 6.2 and 7."""
_MAX_SIGNATURE = 12
"""Lines of text below `--` that may be a signature; if more follow, the rule divides a text that must be read."""
HEAD_LINES = 7
"""Lines within which an enclosed mail's header says who, when, to whom and about what, allowing for a copy, a blank
line and a long list of recipients. With fewer, some headers are missed; with many more, any two lines that begin like a
label would make a header."""
_MIN_LABELS = 2  # besides "From:", which can also begin a sentence
_LABEL_WIDTH = 30
"""Characters of a line that can be a label: even the longest, between signs for bold, is far shorter."""
_MAX_LINE = 300
"""Characters of a line to search, so that no pattern is slow on a paragraph without line breaks."""
_ABOVE = 2  # lines above a quotation in which its introduction may end: one of them may be blank


class MailLine(NamedTuple):
    """A line without its quotation marks; `depth` counts them, and `role` is "new", "quote", "signature" or "blank"."""

    role: str
    depth: int
    text: str


def read_lines(text: str) -> Iterator[tuple[str, int, list[str]]]:
    """Yield runs of lines of one role and depth, between blank lines."""
    lines = [_line(line) for line in text.splitlines()]
    lines = _with_signature(_with_history(_with_armour(lines) if _ARMOUR_END in text else lines))
    for (role, depth), run in groupby(lines, key=lambda line: (line.role, line.depth)):
        if role != "blank":
            yield role, depth, [line.text for line in run]


def begins_history(lines: list[str]) -> bool:
    """Return whether the first line begins an answered or forwarded mail, given the lines below it."""
    first = lines[0].strip()[:_MAX_LINE] if lines else ""
    if _ORIGINAL.match(first):
        return True
    if not _FROM.match(first):
        return False
    labels = sum(bool(_OTHER.match(line.strip()[:_LABEL_WIDTH])) for line in lines[1:HEAD_LINES])
    return labels >= _MIN_LABELS


def introduces(line: str) -> bool:
    """Return whether a line names the author of the quotation below it."""
    line = line.strip()[-_MAX_LINE:]
    return bool(_WROTE.search(line) or _DATED.match(line))


def _line(line: str) -> MailLine:
    mark = _QUOTED.match(line)
    depth = mark[0].count(">") if mark else 0
    content = line[mark.end() :] if mark else line
    if not content.strip():
        return MailLine("blank", depth, "")
    return MailLine("quote" if depth else "new", depth, content)


def _with_history(lines: list[MailLine]) -> list[MailLine]:
    """Return lines in which introductions of quotations, and everything after an enclosed mail's header, are quoted."""
    head = next((at for at in range(len(lines)) if _encloses(lines, at)), len(lines))
    return _with_introductions(lines[:head]) + [_nested(line) for line in lines[head:]]


def _encloses(lines: list[MailLine], at: int) -> bool:
    """Return whether an enclosed mail's header begins at a line."""
    return lines[at].role == "new" and begins_history([line.text for line in lines[at : at + HEAD_LINES]])


def _nested(line: MailLine) -> MailLine:
    return line if line.role == "blank" else MailLine("quote", line.depth + 1, line.text)


def _with_introductions(lines: list[MailLine]) -> list[MailLine]:
    found: list[MailLine] = []
    for line in lines:
        if line.role == "quote" and line.depth == 1:
            _mark_introduction(found)
        found.append(line)
    return found


def _mark_introduction(found: list[MailLine]) -> None:
    """Mark the one or two lines above a quotation as quoted if they name its author."""
    last = _last_written(found)
    if last is None or found[last].role != "new" or not introduces(found[last].text):
        return
    first = last - 1 if last and _begins_introduction(found[last - 1]) else last
    found[first : last + 1] = [MailLine("quote", 1, line.text) for line in found[first : last + 1]]


def _last_written(found: list[MailLine]) -> int | None:
    """Return the index of the line that may introduce a quotation, or None if only blank lines are near."""
    near = range(len(found))[-_ABOVE:]
    return next((at for at in reversed(near) if found[at].role != "blank"), None)


def _begins_introduction(line: MailLine) -> bool:
    return line.role == "new" and _OPENING.match(line.text) is not None


def _with_signature(lines: list[MailLine]) -> list[MailLine]:
    """Return lines in which the few below two hyphens, or below underscores, are marked as a signature."""
    found = list(lines)
    for number, line in enumerate(lines):
        if line.role != "new" or not _SIGNATURE.fullmatch(line.text):
            continue
        end = _end_of_signature(lines, number)
        if end > number:
            found[number:end] = map(_signed, lines[number:end])
            break
    return found


def _with_armour(lines: list[MailLine]) -> list[MailLine]:
    """Return lines in which keys and signatures in letters, but not the text that they sign, are marked as such."""
    found, until = list[MailLine](), ""
    for line in lines:
        if line.role == "new" and line.text.startswith(_ARMOUR):
            until = "blank" if line.text.startswith(_SIGNED_TEXT) else _ARMOUR_END
        found.append(_signed(line) if until else line)
        if until and (line.role == until or line.text.startswith(until)):
            until = ""
    return found


def _signed(line: MailLine) -> MailLine:
    return line if line.role == "blank" else line._replace(role="signature")


def _end_of_signature(lines: list[MailLine], start: int) -> int:
    """Return the end of the signature that begins at `start`, or `start` if too much follows for a signature."""
    count = 0
    for at in range(start, len(lines)):
        if lines[at].role == "quote":
            return at
        count += lines[at].role == "new"
        if count > _MAX_SIGNATURE + 1:  # the rule itself counts as one
            return start
    return len(lines)


def draw_body(canvas: Canvas, options: tuple[Body, ...], load: Loader = of_data_uri) -> None:
    """Draw one of several alternative bodies: HTML, unless it has far fewer words than the plain text.

    `load` finds the pictures that it shows; those of quoted history are left out, because the quoted mail has them.
    """
    plain = next((body.text for body in options if not body.html), "")
    page = next((body.text for body in options if body.html), "")
    drawn = _page(page, load) if page.strip() else Parsed("", ())
    words = sum(len(drawn.text[one.start_char : one.end_char].split()) for one in drawn.elements)
    if words > _MIN_SHARE * len(plain.split()):
        _draw_page(canvas, drawn)
    else:
        _draw_plain(canvas, plain)


def _draw_plain(canvas: Canvas, text: str) -> None:
    for role, depth, lines in read_lines(text):
        if role == "quote":
            canvas.quote("\n".join(lines), depth)
        elif role == "signature":
            canvas.paragraph("\n".join(lines), kind="furniture", role="signature")
        else:
            _draw_new_lines(canvas, lines)


def _draw_new_lines(canvas: Canvas, lines: list[str]) -> None:
    """Draw a run of lines, including tables drawn with characters."""
    at = 0
    for table in drawn_tables(lines):
        _draw_lines(canvas, lines[at : table.first])
        canvas.table(table.rows, int(table.headed))
        at = table.last
    _draw_lines(canvas, lines[at:])


def _draw_lines(canvas: Canvas, lines: list[str]) -> None:
    """Draw a run of lines as paragraphs and list items."""
    if not lines:
        return
    marks = [_ITEM.match(line) for line in lines]
    if sum(map(bool, marks)) < _MIN_ITEMS and not (marks and marks[0]):
        canvas.paragraph("\n".join(lines))
        return
    starts = [0, *(at for at in range(1, len(lines)) if marks[at]), len(lines)]
    for start, end in pairwise(starts):
        _draw_piece(canvas, marks[start], lines[start:end])


def _draw_piece(canvas: Canvas, mark: re.Match[str] | None, lines: list[str]) -> None:
    """Draw lines as one item, if the first one begins with a mark, or as a paragraph."""
    if mark is None:
        canvas.paragraph("\n".join(lines))
        return
    marker = mark[1] if mark[1][-1] in ".)" else "-"
    canvas.item("\n".join([lines[0][mark.end() :], *lines[1:]]), 1, marker)


def _page(page: str, load: Loader) -> Parsed:
    """Return an HTML body with marker paragraphs where quoted history begins and ends."""
    root = page_tree(page.replace(_BEGIN, "").replace(_END, ""))
    if root is None:
        return Parsed("", ())
    seen = set[Any]()
    for node in _QUOTING(root):  # in document order, so that inner nodes come after outer ones
        if seen.isdisjoint(node.iterancestors()):
            seen.add(node)
            node.addprevious(_mark(_BEGIN))
            after = _mark(_END)
            after.tail, node.tail = node.tail, None
            node.addnext(after)
    for node in _DIVIDING(root)[:1]:
        node.addprevious(_mark(_BEGIN))
    return draw_tree(root, load=load)


def _mark(sign: str) -> Any:
    mark = etree.Element("p")
    mark.text = sign
    return mark


def _draw_page(canvas: Canvas, drawn: Parsed) -> None:
    """Draw an HTML body; history between the markers, and everything after an enclosed mail's header, become quotes."""
    canvas.album.take(drawn)
    texts = [drawn.text[one.start_char : one.end_char] for one in drawn.elements]
    history = below = False
    for number, (element, text) in enumerate(zip(drawn.elements, texts, strict=True)):
        if text in (_BEGIN, _END):
            history = text == _BEGIN
            continue
        if not below:
            above, text, below = _cut(text, texts[number + 1 : number + HEAD_LINES])
            canvas.paragraph(above)
        if element.kind == "figure":
            if not history and not below:
                canvas.copy(element, text)
        elif history or below or _introduces_next(drawn.elements, texts, number):
            _quote(canvas, element, text)
        else:
            _draw_new(canvas, element, text)


def _introduces_next(elements: tuple[Element, ...], texts: list[str], number: int) -> bool:
    """Return whether an element names the author of the history directly below it."""
    below = number + 1
    quoted = below < len(texts) and (texts[below] == _BEGIN or elements[below].kind == "quote")
    return quoted and introduces(texts[number])


def _draw_new(canvas: Canvas, element: Element, text: str) -> None:
    """Draw new text: headings are below the mail's subject, and a typed bullet makes an item."""
    if element.kind == "title":
        canvas.heading(element.attributes["text"], element.level + 1)
    elif element.kind == "paragraph" and _BULLET.match(text):
        canvas.item(_BULLET.sub("", text, count=1), 1, **element.attributes)
    else:
        canvas.copy(element, text)


def _cut(text: str, below: list[str]) -> tuple[str, str, bool]:
    """Return the text above an enclosed mail's header, the header with the rest, and whether there is one."""
    lines = text.splitlines()
    following = [line for one in below for line in one[:_MAX_CUT].splitlines()]
    for number in range(len(lines)):
        if begins_history([*lines[number : number + HEAD_LINES], *following[:HEAD_LINES]]):
            return "\n".join(lines[:number]), "\n".join(lines[number:]), True
    return "", text, False


def _quote(canvas: Canvas, element: Element, text: str) -> None:
    depth = 1
    if element.kind == "quote":  # its text has the quotation marks already
        text = "\n".join(line.lstrip("> ") for line in text.splitlines())
        depth = max(1, element.level)
    canvas.quote(text, depth, links=element.attributes.get("links", ()))
