"""A company's documents of every kind that can tell of others, and the truth of who may see which.

Copies and near-copies, nested archives, mails with attachments, parents with summaries, and languages of one team
alone are spread over folders of different access.
"""

import os
import random
import re
from collections.abc import Iterable
from email.message import EmailMessage
from pathlib import Path

from tests.kit.workbench import Files, Workbench
from tests.kit.writers.archives import zipped

_TIME_S = 1_767_225_600  # 2026-01-01, of all files: a row has the time of its file
PRINCIPALS = (["sales", "all"], ["board"], ["all"])
"""Three askers; one of them is of two groups."""
SETTINGS = {
    "routes": [
        {"glob": "**/handbook.md", "strategy": "hierarchical", "options": {"size": 40, "paragraph": 32}},
        {"glob": "**/essay.md", "strategy": "recursive", "options": {"size": 24, "summaries": True}},
    ],
    "metadata": {"team": "text", "tags": "list"},
}
_NOUNS = (
    "mill",
    "wheel",
    "wheat",
    "river",
    "stone",
    "grain",
    "flour",
    "baker",
    "winter",
    "contract",
    "price",
    "ledger",
)
_GERMAN = "Der Vertrag über die Mühle ist nicht mit dem Müller und den Bauern aus dem Dorf geschlossen worden.\n"


def _prose(seed: int, sentences: int = 6) -> str:
    draw = random.Random(seed)
    lines = (" ".join(["The", *draw.choices(_NOUNS, k=7), f"number{seed}."]) for _ in range(sentences))
    return "\n\n".join(lines) + "\n"


def _handbook(seed: int) -> str:
    return "".join(f"# Part {n}\n\n{_prose(seed + n)}\n## Detail {n}\n\n{_prose(seed + n + 50)}\n" for n in range(3))


def _mail(subject: str, body: str, attached: dict[str, str]) -> bytes:
    message = EmailMessage()
    message["From"], message["To"] = "mill@example.org", "ledger@example.org"
    message["Subject"], message["Message-ID"] = subject, f"<{subject.replace(' ', '-')}@example.org>"
    message["Date"] = "Mon, 02 Mar 2026 10:00:00 +0000"
    message.set_content(body)
    for name, text in attached.items():
        message.add_attachment(text.encode(), maintype="text", subtype="markdown", filename=name)
    message.set_boundary(f"of-{message['Message-ID'][1:-1]}")
    return bytes(message)


SHARED = "# Notice\n\n" + _prose(1)
"""A text of which every folder has a copy."""
ACCESS: dict[str, tuple[str, ...]] = {
    "open": ("all",),
    "sales": ("sales",),
    "sales/inner": ("sales", "board"),
    "board": ("board",),
    "sealed": (),
}
"""The truth: who may see the documents of a folder."""


def _of_folder(folder: str, seed: int) -> dict[str, str | bytes]:
    inner = zipped({"deep.md": f"# Deep of {folder}\n\n{_prose(seed + 5)}", "notice.md": SHARED})
    return {
        "notice.md": SHARED,
        "near.md": SHARED.replace("number1.", f"number{seed}.", 1),
        "handbook.md": _handbook(seed),
        "essay.md": f"# Essay\n\n{_prose(seed + 7, 20)}",
        "pack.zip": zipped({"top.md": f"# Top of {folder}\n\n{_prose(seed + 3)}", "in.zip": inner}),
        "mail.eml": _mail(f"Price of {folder}", _prose(seed + 2), {"offer.md": f"# Offer\n\n{_prose(seed + 4)}"}),
        "table.csv": "grain,price\n" + "".join(f"wheat{n},{seed + n}\n" for n in range(12)),
        "tagged.md": f"---\ntags: [{folder.split('/')[0]}, mill]\n---\n# Tagged\n\n{_prose(seed + 8)}",
        f"only-{folder.replace('/', '-')}.md": f"# Secret{seed}\n\nOnly {folder} knows of the zeppelin{seed}.\n",
    }


def files(rooms: int = 0) -> dict[str, str | bytes]:
    """Return all files of the company, the sidecars that grant access among them.

    Each of its folders has as many `rooms`, folders with documents of the same kinds and the access of the folder. With
    none of them, the company has 56 documents, and 50 more for each room of its folders.
    """
    found: dict[str, str | bytes] = {}
    for number, (folder, access) in enumerate(ACCESS.items()):
        found |= {f"{folder}/{name}": content for name, content in _of_folder(folder, 100 * (number + 1)).items()}
        for room in range(rooms):
            within = _of_folder(f"{folder}/room{room}", 100 * (number + 1) + 1000 * (room + 1))
            found |= {f"{folder}/room{room}/{name}": content for name, content in within.items()}
        if folder != "open":
            found[f"{folder}/_metadata.toml"] = f'access = {[*access]}\nteam = "{folder}"\n'
    found["board/vertrag.md"] = "# Vertrag\n\n" + _GERMAN * 4  # the only text of its language
    # One file of a folder may be open to others than the rest.
    found["board/public.md"] = f"# Public\n\n{_prose(900)}"
    found["board/public.md.meta.toml"] = 'access = ["all", "board"]\n'
    return found


def sees(principals: Iterable[str], name: str) -> bool:
    """Return whether principals may see a file, by the truth."""
    folder = re.sub(r"/room\d+", "", name.rpartition("/")[0])
    access = ("all", "board") if name.startswith("board/public.md") else ACCESS[folder]
    return not set(access).isdisjoint(principals)


def visible(every: Files, principals: Iterable[str]) -> Files:
    """Return the files that principals may see, with the sidecars of the folders that hold some."""
    kept = {name: content for name, content in every.items() if sees(principals, name)}
    folders = {re.sub(r"/room\d+", "", name.rpartition("/")[0]) for name in kept}
    beside = {f"{folder}/_metadata.toml" for folder in folders} | {"sales/_metadata.toml"} & every.keys()
    return kept | {name: every[name] for name in beside & every.keys()}


def founded(folder: Path, content: Files) -> Workbench:
    """Ingest files, all of the same time, into a new store."""
    bench = Workbench(folder, dict(SETTINGS))
    bench.write(content)
    for path in bench.docs.rglob("*"):
        os.utime(path, (_TIME_S, _TIME_S))
    bench.ingest()
    return bench
