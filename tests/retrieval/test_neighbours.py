"""What stands around a hit: neighbours in its text, and the words of the first hits."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.workbench import Workbench

BIRDS = ["heron", "plover", "godwit", "curlew", "dunlin", "knot", "ruff", "snipe", "teal", "gadwall"]
FACTS = "".join(
    f"## {bird}\n\nThe {bird} has number {i}. Nobody else on the marsh has it.\n\n" for i, bird in enumerate(BIRDS)
)


@pytest.mark.parametrize(
    "route",
    [
        {"strategy": "hierarchical", "options": {"size": 40, "paragraph": 32}},
        {"strategy": "structure", "options": {"size": 40}, "also": [{"strategy": "sentence", "options": {"size": 16}}]},
    ],
    ids=["levels", "ensemble"],
)
def test_what_stands_for_the_same_text_is_no_neighbour(
    tmp_path: Path, fake_model: str, route: dict[str, object]
) -> None:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}, "routes": [{"glob": "**", **route}]})
    bench.write({"birds.md": f"# Birds\n\n{FACTS}"})
    bench.ingest()
    rows = {row.chunk_id: row for row in bench.chunks()}
    for hits in bench.store.search_all(BIRDS, 3, widen=80):
        for one, other in itertools.combinations(hits, 2):
            assert one.end_char <= other.start_char or other.end_char <= one.start_char
        for hit in hits:
            own = rows[hit.chunk_id]
            alike = [row for row in rows.values() if (row.strategy, row.depth) == (own.strategy, own.depth)]
            held = sum(hit.start_char <= row.start_char and row.end_char <= hit.end_char for row in alike)
            said = [note.said for note in hit.steps if note.step == "widen"]
            assert [f"{held} chunks"] == [one.split(",")[0] for one in said] or (held, said) == (1, [])


def test_feedback_asks_the_same_in_every_process(tmp_path: Path, fake_model: str) -> None:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    bench.write({"tides.md": "Tide: water-level Water watered; MARSH-land marsh, Marshes; reed-bed Reeds reed."})
    bench.ingest()
    code = "import sys, docmill; print(docmill.open_store(sys.argv[1]).search("
    code += "'tide', 3, 'keyword', expand='feedback')[0].terms)"
    said = set()
    for seed in "123":
        command, environment = [sys.executable, "-c", code, str(bench.root)], {**os.environ, "PYTHONHASHSEED": seed}
        said.add(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    assert len(said) == 1
