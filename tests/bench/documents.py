"""Generate a documentation tree and its next version, from a seed, in the words of the test corpus."""

import random
import re
from pathlib import Path

_CORPUS = Path(__file__).parents[1] / "corpus"


def _vocabulary(rng: random.Random) -> list[str]:
    """Return the distinct words of the corpus's Markdown in a random order."""
    text = " ".join(path.read_text(encoding="utf-8") for path in sorted(_CORPUS.rglob("*.md")))
    words = sorted({word.lower() for word in re.findall(r"[A-Za-z]{2,}", text)})
    rng.shuffle(words)
    return words


def _sentence(words: list[str], rng: random.Random) -> str:
    chosen = [words[int(len(words) * rng.random() ** 3)] for _ in range(rng.randint(6, 22))]
    return " ".join(chosen).capitalize() + "."


def _page(words: list[str], rng: random.Random) -> str:
    parts = [f"# {_sentence(words, rng)[:40]}"]
    for _ in range(rng.randint(2, 6)):
        parts.append(f"## {_sentence(words, rng)[:30]}")
        parts += [" ".join(_sentence(words, rng) for _ in range(rng.randint(2, 7))) for _ in range(rng.randint(1, 4))]
    return "\n\n".join(parts) + "\n"


def write_tree(folder: Path, documents: int, seed: int = 7) -> None:
    """Write so many Markdown pages of about 3 KB below `folder`."""
    rng = random.Random(seed)
    words = _vocabulary(rng)
    for number in range(documents):
        path = folder / f"part-{number % 17:02d}" / f"page-{number:05d}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_page(words, rng), encoding="utf-8")


def edit_tree(folder: Path, seed: int = 8) -> None:
    """Insert a sentence into every tenth page, rename every 25th, delete every 50th."""
    rng = random.Random(seed)
    words = _vocabulary(rng)
    for number, path in enumerate(sorted(folder.rglob("*.md"))):
        if number % 50 == 49:
            path.unlink()
        elif number % 25 == 24:
            path.rename(path.with_stem(f"renamed-{path.stem}"))
        elif number % 10 == 9:
            paragraphs = path.read_text(encoding="utf-8").split("\n\n")
            place = rng.randrange(1, len(paragraphs))
            paragraphs[place] += " " + _sentence(words, rng)
            path.write_text("\n\n".join(paragraphs), encoding="utf-8")
