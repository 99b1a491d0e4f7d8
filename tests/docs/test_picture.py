"""The picture of a session shows what the terminal showed, as long as it was there, with waits made short."""

import pytest

from tests.kit.picture.screen import Screen, Style, plain, runs
from tests.kit.picture.session import COMMANDS, PICTURED, Output
from tests.kit.picture.timeline import LONGEST, timeline


def shown(*data: bytes, columns: int = 20) -> Screen:
    """Return a screen to which pieces of bytes were written."""
    screen = Screen(columns)
    for piece in data:
        screen.feed(piece)
    return screen


def test_a_progress_bar_that_is_drawn_anew_replaces_itself() -> None:
    bar = b"parse 1\r\nembed 0\r\x1b[2K\x1b[1A\x1b[2Kparse 2\r\nembed 9\r\x1b[2K\x1b[1A\x1b[2Kdone\r\n"
    assert plain(shown(bar).lines()) == "done\n"


def test_a_sequence_and_a_character_may_arrive_in_pieces() -> None:
    whole = "\x1b[1;32mété 40 °C\x1b[0m in winter\r\n".encode()
    for cut in range(len(whole)):
        assert shown(whole[:cut], whole[cut:]).lines() == shown(whole).lines()
    green = Style(2, frozenset({"bold"}))
    assert runs(shown(whole).lines()[0]) == [(0, "été 40 °C", green), (9, " in winter", Style())]


def test_a_long_line_goes_on_below_as_in_a_terminal() -> None:
    assert plain(shown(b"abcdefg\r\nh", columns=3).lines()) == "abc\ndef\ng\nh"


def test_colours_are_those_of_the_table_of_256() -> None:
    line = shown(b"\x1b[31ma\x1b[91mb\x1b[38;5;70mc\x1b[2md\x1b[me").lines()[0]
    assert [style.colour for _, _, style in runs(line)] == [1, 9, 70, 70, -1]


def test_a_style_that_the_screen_does_not_know_is_an_error() -> None:
    with pytest.raises(ValueError, match="code 48"):
        shown(b"\x1b[48;5;1mx")


def test_a_wait_is_made_short_and_told_in_full() -> None:
    line = timeline([Output(0, 1.0, b"begun\r\n"), Output(0, 59.0, b"half\r\n"), Output(0, 60.0, b"\rdone\r\n")])
    assert line.really == 60.0
    begun, half = (one for one in line.shown if plain([one.line]) in ("begun", "half"))
    assert half.start - begun.start < LONGEST
    assert begun.end == half.end == line.length


def test_a_line_is_there_until_another_takes_its_place_and_the_last_stay() -> None:
    line = timeline([Output(1, 0.1, b"loading"), Output(1, 2.0, b"\r\x1b[2Kloaded\r\n")])
    loading, loaded = (one for one in line.shown if plain([one.line]).startswith("load"))
    assert loading.row == loaded.row
    assert loading.end == loaded.start
    prompts = [f"$ {command}" for command in COMMANDS[:PICTURED]]
    assert [plain([one.line]) for one in line.last()] == [*prompts[:2], "loaded", *prompts[2:]]
