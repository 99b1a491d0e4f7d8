"""Names from outside: whoever writes to a bucket, or packs an archive, reaches no file outside of docmill's folder."""

import json
import os
import urllib.parse
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from docmill.storage.address import url_of
from docmill.storage.errors import ConfigError, DocmillError, QueryError, StoreError
from docmill.storage.files import hash_file
from docmill.storage.keys import hash_bytes
from docmill.storage.remote.objects.lance_manifest import version_files
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.archive.listing import extract, list_contents
from docmill.tasks.paths.local_file import LocalFile
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.fetch_files import Incoming
from docmill.tasks.sources.source import DiscoverOptions
from tests.kit.drawing import examples
from tests.kit.remote_bench import RemoteBench
from tests.kit.workbench import Workbench
from tests.kit.writers.archives import tarred, zipped

EVIL = b"evil"
HASH = hash_bytes(EVIL)
SNAPSHOT = "snapshots/000001.json"
BINARY = {"Content-Type": "application/octet-stream"}  # else the object store takes the body for a form


@pytest.fixture
def laid(far: RemoteBench) -> RemoteBench:
    far.write({"guide.md": "# Guide\n\nTurn the red knob.\n", "notes.txt": "Notes about snow.\n"})
    far.ingest()
    return far


@dataclass
class Intruder:
    """Somebody who may write to the bucket of a store; each attack is answered on a machine that was never there."""

    far: RemoteBench
    machines: int = 0

    def put(self, key: str, data: bytes | None = EVIL) -> None:
        """Put an object of any key, or delete it if `data` is None: requests that no client of ours would send."""
        bucket, _, prefix = self.far.address.removeprefix("s3://").partition("/")
        path = urllib.parse.quote(f"/{bucket}/{prefix}/{key}", safe="/")
        method, signed = "DELETE" if data is None else "PUT", {"Authorization": "AWS any:any", **BINARY}
        request = urllib.request.Request(f"{os.environ['AWS_ENDPOINT_URL']}{path}", data, signed, method=method)
        urllib.request.urlopen(request).close()

    def forge(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the newest snapshot; one without a checksum is taken for that of an older release."""
        known = json.loads(self.far.objects.read(SNAPSHOT))
        del known["checksum"]
        change(known)
        self.put(SNAPSHOT, json.dumps(known).encode())

    def forge_inventory(self, name: str) -> None:
        """Add a file to the inventory of the newest snapshot; its object is there."""
        self.put(f"vectors/{HASH}")
        known = json.loads(self.far.objects.read(SNAPSHOT))
        rows = json.loads(self.far.objects.read(known["inventory"]["path"]))
        data = json.dumps([*rows, [name, len(EVIL), HASH]]).encode()
        file = {"path": f"inventories/{hash_bytes(data)}.json", "bytes": len(data), "hash": hash_bytes(data)}
        self.put(f"inventories/{hash_bytes(data)}.json", data)
        self.forge(lambda snapshot: snapshot.update(inventory=file))

    def machine(self) -> RemoteBench:
        self.machines += 1
        return self.far.on(f"machine-{self.machines}")


def forged_file(intruder: Intruder, name: str, place: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Let the newest snapshot name a file; the object of a file of vectors is found by its hash."""
    intruder.put(f"vectors/{HASH}")
    intruder.forge(lambda known: place(known).update(path=name, bytes=len(EVIL), hash=HASH))


ENTRANCES: dict[str, Callable[[Intruder, str], object]] = {
    "inventory": Intruder.forge_inventory,
    "table": lambda one, name: forged_file(one, name, lambda known: known["tables"]["chunks"][0]["file"]),
    "pack": lambda one, name: forged_file(one, name, lambda known: known["artifacts"]["texts"][0]["file"]),
    "postings": lambda one, name: forged_file(one, name, lambda known: known["keywords"]["segments"][0]["file"]),
    "named inventory": lambda one, name: forged_file(one, name, lambda known: known["inventory"]),
    "vectors": lambda one, name: one.forge(lambda known: known["vectors"].update(table=name)),
}
LISTED = ("tags", "candidates", "snapshots", "evaluations", "dropped")


def around(machine: RemoteBench) -> dict[Path, str]:
    """Return every file of the test that is outside of the machine's mirror, by content; it holds all other mirrors."""
    files = filter(Path.is_file, machine.folder.rglob("*"))
    return {path: hash_file(path) for path in files if not path.is_relative_to(machine.root)}


def _embed_nothing(_: object) -> Any:
    raise QueryError("this machine has no model")


def use(machine: RemoteBench) -> None:
    """Do on a machine what fetches and removes files of the mirror."""
    with suppress(DocmillError), machine.store as store:
        store.search("red knob", k=1, mode="keyword")
        store.document("guide.md")
    for act in (lambda: list(verify(machine.root, deep=True)), lambda: repair(machine.root, _embed_nothing)):
        with suppress(DocmillError):
            act()


OUT = [
    "vectors/../../../loot/x",
    "vectors/a.lance/../../../../loot/x",
    "vectors/../remote.json",
    "../../loot/x",
    "/loot",
]


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_snapshot_that_names_a_file_outside_of_the_store_is_refused_before_anything_is_fetched(
    laid: RemoteBench, entrance: str
) -> None:
    intruder = Intruder(laid)
    (laid.folder / "mirrors" / "loot").mkdir()
    for name in OUT:
        machine = intruder.machine()
        before = laid.objects.read(SNAPSHOT)
        known, marker = around(machine), (machine.root / "remote.json").read_bytes
        ENTRANCES[entrance](intruder, name)
        with pytest.raises(StoreError, match=r"loot|remote\.json") as caught:
            machine.store.search("knob", k=1)
        assert repr(name) in str(caught.value)
        assert around(machine) == known
        assert json.loads(marker())["url"] == laid.address
        laid.objects.put(SNAPSHOT, before)


def test_a_refused_name_is_shown_without_its_control_characters(laid: RemoteBench) -> None:
    intruder = Intruder(laid)
    intruder.forge_inventory("vectors/\x1b[2Jx\u202e")
    with pytest.raises(StoreError, match=r"vectors/\\x1b\[2Jx\\u202e"):
        laid.on("two").store.search("knob", k=1)


def test_a_folder_of_a_mirror_that_is_a_link_is_not_written_through(laid: RemoteBench) -> None:
    machine = laid.on("two")
    elsewhere = laid.folder / "elsewhere"
    elsewhere.mkdir()
    (machine.root / "vectors").symlink_to(elsewhere)
    with pytest.raises(StoreError, match=r"vectors.* leads out of"):
        machine.store.search("knob", k=1)
    assert list(elsewhere.iterdir()) == []


def test_objects_that_docmill_has_not_named_are_left_where_they_are(laid: RemoteBench) -> None:
    """A note of a person in the bucket stops nobody."""
    for folder in LISTED:
        for name in ("read me.txt", "a/b.json", ".tmp-x.json", "~.json", f"x y-{HASH}.parquet", f"a/b-{HASH}.parquet"):
            laid.objects.put(f"{folder}/{name}", EVIL)
    machine = laid.on("two")
    assert machine.store.search("red knob", k=1)[0].uri == "guide.md"
    assert verify(machine.root) == []
    names = {path.name for folder in LISTED for path in (machine.root / folder).glob("*")}
    assert names == {"000001.json"}


def test_an_object_whose_key_is_no_path_is_named_and_no_reason_to_run_again(laid: RemoteBench) -> None:
    Intruder(laid).put("tags/a\x1bb.json")
    with pytest.raises(StoreError, match=r"rename or delete.*a\\x1bb\.json"):
        laid.on("two").store.search("knob", k=1)


@pytest.mark.usefixtures("fake_model")
def test_a_manifest_that_names_a_file_outside_of_its_table_is_refused(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write({"a.md": "One page.\n"})
    bench.ingest()
    (table,) = (bench.root / "vectors").glob("*.lance")
    (data,) = (table / "data").iterdir()
    (manifest,) = [path for path in (table / "_versions").glob("*.manifest") if data.name.encode() in path.read_bytes()]
    outward = "../../../../docs/" + "a.md".rjust(len(data.name) - 17, "/")
    manifest.write_bytes(manifest.read_bytes().replace(data.name.encode(), outward.encode()))
    assert (table / "data" / outward).is_file()
    with pytest.raises(StoreError, match=r"\.\./docs"):
        version_files(table, (1 << 64) - 1 - int(manifest.stem))


@pytest.mark.parametrize("prefix", ["../x", "a/../x", "a//b", "./a", "a\x1bb"])
def test_an_address_whose_prefix_is_no_path_is_explained(prefix: str) -> None:
    with pytest.raises(ConfigError) as caught:
        url_of(f"s3://bucket/{prefix}")
    assert repr(prefix) in str(caught.value)


STEPS = [
    "..",
    ".",
    "",
    "vectors",
    "tables",
    "tags",
    "loot",
    "a b",
    "é",
    "x\x1b[2J",
    "~",
    "C:",
    ".x",
    "..\\x",
    "\\",
    "x" * 260,
]
TOPS = ["", "/", "vectors/", "tables/", "vectors/x.lance/data/", "inventories/", "../"]
NAMES = st.builds(
    lambda top, steps, end: f"{top}{'/'.join(steps)}{end}",
    st.sampled_from(TOPS),
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=5),
    st.sampled_from(["", ".json", f"-{HASH}.parquet", ".md"]),
)


@examples(12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([*ENTRANCES, *LISTED]), NAMES)
@example("table", "vectors/vectors")  # a file of no table
def test_no_name_in_a_bucket_reaches_a_file_outside_of_the_mirror(laid: RemoteBench, entrance: str, name: str) -> None:
    intruder = Intruder(laid)
    machine = intruder.far.on(hash_bytes(f"{entrance} {name}".encode()))
    before, known = laid.objects.read(SNAPSHOT), around(machine)
    key = f"{entrance}/{name}"
    try:
        ENTRANCES[entrance](intruder, name) if entrance in ENTRANCES else intruder.put(key)
        use(machine)
        assert around(machine) == known
    finally:
        if entrance in LISTED:
            intruder.put(key, None)
        for committed in laid.keys("snapshots") - {SNAPSHOT}:
            intruder.put(committed, None)
        intruder.put(SNAPSHOT, before)


@examples(20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NAMES)
def test_no_key_of_a_source_reaches_a_file_outside_of_the_downloads(laid: RemoteBench, name: str) -> None:
    intruder, machine = Intruder(laid), laid.on("reader")
    known, incoming = around(machine), Incoming(machine.root / "incoming")
    intruder.put(f"docs/{name}")
    try:
        source = open_source(f"{laid.address}/docs")
        listing = incoming.listing(source, DiscoverOptions(hidden=True, may_be_empty=True))
        found = incoming.admit(source, listing, replaces=True).found
        refused = incoming.bring(file.path for file in found)
        brought = [Path(file.path) for file in found if file.origin and file.path not in refused]
        assert all(path.read_bytes() == EVIL for path in brought)
    finally:
        intruder.put(f"docs/{name}", None)
        incoming.remove()
    assert around(machine) == known


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(NAMES, min_size=1, max_size=3, unique=True))
def test_no_name_in_an_archive_reaches_a_file(tmp_path: Path, names: list[str]) -> None:
    kept = [name for name in names if name.encode() and len(name) < 250]
    folder = tmp_path / "outer" / "inner"
    (folder / "laid").mkdir(parents=True, exist_ok=True)
    for pack in (zipped, tarred):
        path = folder / "x"
        path.write_bytes(pack(dict.fromkeys(kept, "E") | {"a.md": "A"}))
        found = list_contents(LocalFile(str(path)), "x.zip", ArchiveOptions())
        wanted = {entry.place: folder / "laid" / str(number) for number, entry in enumerate(found.entries)}
        extract(LocalFile(str(path)), "x.zip", wanted, ArchiveOptions())
        told = {entry.name for entry in found.entries if not entry.reason}
        assert "a.md" in told
        assert not any({"", "..", "."} & {*name.split("/")} for name in told)
        outside = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent != folder / "laid"]
        assert outside == [path]
