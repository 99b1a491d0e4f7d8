"""The picture of the README and the output of its commands: `python -m tests.kit.making.make_picture`.

It records the session of `tests.kit.picture.session` in a pseudo terminal, with the packaged model, draws it to
`docs/pictures/session.svg`, and writes what each command printed below that command in the README's console blocks.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.kit.picture.drawing import svg
from tests.kit.picture.screen import Screen, plain
from tests.kit.picture.session import COMMANDS, ROOT, Output, play
from tests.kit.picture.timeline import timeline

PICTURE = ROOT / "docs" / "pictures" / "session.svg"
README = ROOT / "README.md"
BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_UNBROKEN = 10_000
"""Columns of a terminal that breaks no line: on a page, the reader's browser does that."""


def printed(outputs: Iterable[Output]) -> tuple[str, ...]:
    """Return what each command left on the screen, as plain text with unbroken lines."""
    screens = [Screen(_UNBROKEN) for _ in COMMANDS]
    for one in outputs:
        screens[one.command].feed(one.data)
    return tuple(plain(screen.lines()).strip("\n") for screen in screens)


def with_outputs(text: str, outputs: tuple[str, ...]) -> str:
    """Return a page with the output of each command of the session in its console blocks.

    A block is one command or several; the same command for the second time has its second output.

    Raises:
        ValueError: A block has a command that the session does not have any more.
    """
    rest = list(zip(COMMANDS, outputs, strict=True))
    return BLOCK.sub(lambda block: "".join(map(_taker(rest), re.findall(r"^\$ (.*)", block[0], re.MULTILINE))), text)


def _taker(rest: list[tuple[str, str]]) -> Callable[[str], str]:
    def take(command: str) -> str:
        for place, (known, output) in enumerate(rest):
            if known == command:
                del rest[: place + 1]
                return f"$ {command}\n{output}\n" if output else f"$ {command}\n"
        raise ValueError(f"not in the session, or not in its order: {command}")

    return take


def record(folder: Path) -> tuple[str, tuple[str, ...]]:
    """Play the session in an empty folder; return its picture and what each command printed."""
    outputs = list(play(folder))
    line = timeline(outputs)
    title = f"docmill, recorded in a terminal; {line.really:.0f} s of waiting made short"
    return svg(line, title), printed(outputs)


def main() -> None:
    """Write the picture and the outputs."""
    with TemporaryDirectory() as folder:
        picture, outputs = record(Path(folder))
    PICTURE.write_text(picture, encoding="utf-8")
    README.write_text(with_outputs(README.read_text(encoding="utf-8"), outputs), encoding="utf-8")


if __name__ == "__main__":
    main()
