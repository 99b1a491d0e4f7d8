"""Measure what phrasings of chunks cost, and what searches find with those of a stand-in for a language model.

    python -m tests.bench.finding.phrasings --data FOLDER [--cache DIR] [--only SET] [--kind statements] [--half report]

Each set is ingested without phrasings and with them. The loopback server of the tests writes these by rules: of each
sentence a statement that names the title and the headings above it, and a question of its first words. So the costs are
those of any model that writes as much, and what is found is that of these rules, not of a model.
The first table is that of `tests.bench.finding.retrieval`, each way against the same one without phrasings; the second
has the chunks, the vectors, the size of the store in MB, and the calls of the model.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.read.store import open_store
from docmill.tasks.context.contextualizers import PHRASED
from tests.bench.finding import retrieval
from tests.bench.finding.remembering import remember
from tests.bench.finding.results import Results, rows
from tests.bench.sets.catalogue import chosen
from tests.kit.model_server import model_server

_WAYS = ("default", "vectors", "keywords")
_COSTS = "| set | kinds | chunks | vectors | MB | calls | CPU s besides encoding |\n|---|---|---:|---:|---:|---:|---:|"


def row_of_costs(name: str, folder: Path, seconds: float | None, kinds: Sequence[str]) -> str:
    """Return a line of the table of costs."""
    files = [path for path in (folder / "store").rglob("*") if path.is_file()]
    state = snapshots.read(folder / "store")
    with open_store(folder / "store") as store:
        calls = store.sql("SELECT coalesce(sum(calls), 0)::BIGINT AS calls FROM costs").column(0)[0].as_py()
    size = sum(path.stat().st_size for path in files) / 1e6
    cells = [name, ", ".join(kinds) or "none", f"{state.rows('chunks'):,}", f"{state.vectors.rows:,}", f"{size:.1f}"]
    return " | ".join([*cells, f"{calls:,}", "" if seconds is None else f"{seconds:.1f}"])


def main() -> None:
    """Print both tables."""
    parser = retrieval.arguments()
    parser.add_argument("--kind", action="append", choices=PHRASED, help="Kinds of phrasings; both by default.")
    given = parser.parse_args()
    kinds = given.kind or list(PHRASED)
    plain, phrased, costs = Results(given.half), Results(given.half), list[str]()
    os.environ.setdefault("OPENAI_API_KEY", "none")
    with TemporaryDirectory() as temporary, model_server() as server:
        remember(given.cache or Path(temporary) / "vectors", given.keywords)
        asking = ["model.provider=openai", "model.model=loopback", f"model.base_url={server.url}/v1"]
        both: tuple[tuple[Results, list[str], list[str]], ...]
        both = (plain, [], []), (phrased, kinds, [*asking, f"chunk.phrasings={str(kinds).replace(chr(39), chr(34))}"])
        print(retrieval.HEAD, flush=True)
        for one in chosen(given.only):
            for results, some, settings in both:
                folder = (given.stores or Path(temporary)) / ("phrased" if some else "plain")
                given.setting = settings
                found = retrieval.measure(one, given, folder, given.way or _WAYS)
                if found:
                    results.sets[one.name] = found
                    costs.append(row_of_costs(one.name, folder / one.name, found.costs.seconds, some))
            for row in rows(phrased, plain, one.name):
                print("|", row, "|", flush=True)
    print(f"\n{_COSTS}", *(f"| {one} |" for one in costs), sep="\n")


if __name__ == "__main__":
    main()
