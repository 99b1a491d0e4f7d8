"""Codes for terminals: they are left out of the text of every format."""

import pytest

from docmill.tasks.parse.decode import decode, is_text


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\x1b[1m\x1b[31mFAILED\x1b[0m mill", "FAILED mill"),
        ("\x1b[38;5;208mrye\x1b[39;49m", "rye"),
        ("\x1b[38:2::255:0:0mrye\x1b[m", "rye"),
        ("50%\x1b[2K\x1b[1Gdone", "50%done"),
        ("\x1b]8;;https://mill.example\x1b\\mill\x1b]8;;\x1b\\", "mill"),
        ("\x1b]0;title\x07rye", "rye"),
        ("\x1b(Brye\x1b=", "rye"),
        ("N\bNA\bAM\bME\bE   _\br_\by_\be", "NAME   rye"),
        ("ü\bü", "ü"),
    ],
)
def test_what_a_terminal_obeys_is_no_text(written: str, shown: str) -> None:
    assert is_text((written * 50).encode())
    assert decode(written.encode()).text == shown


def test_a_stray_backspace_takes_no_letter_away() -> None:
    assert decode(b"Text " * 100 + b"there \bis").text.endswith("there \bis")
