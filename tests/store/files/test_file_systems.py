"""What a store needs of its file system is there, or is replaced, or is asked for before any work."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docmill.storage.snapshots.history import snapshots
from tests.kit.fake_encoder import NAME
from tests.kit.faults.lacking import FAT, SMB, build, environment
from tests.kit.remote_bench import RemoteBench
from tests.kit.workbench import Workbench

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("lacking"))


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    assert fake_model
    made = Workbench(tmp_path_factory.mktemp("laid"))
    for number in range(2):
        made.write({"guide.md": f"# Guide\n\nTurn knob {number}.\n"})
        made.ingest()
    return made


@pytest.fixture
def bench(laid: Workbench, tmp_path: Path) -> Workbench:
    """Return a bench whose store has two snapshots."""
    return laid.copy(tmp_path)


@pytest.fixture
def new(bench: Workbench) -> Workbench:
    """Return a bench without a store."""
    shutil.rmtree(bench.root)
    return bench


def docmill(
    model: Path, *arguments: str | Path, env: dict[str, str] | None = None, before: str = ""
) -> tuple[int, str]:
    """Run the command line, after the shell's commands `before`; return its exit status and what it complains of."""
    command = [sys.executable, "-m", "tests.kit.docmill_with_fake_model", str(model), *map(str, arguments)]
    if before:
        script = f'set -e; {before}; exec "$@"'
        command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", *command]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.strip()


def ingest(bench: Workbench) -> list[str | Path]:
    return ["ingest", bench.docs, "--store", bench.root, "--embedding-model", NAME, "--engine", "local"]


def test_a_store_without_hard_links_is_refused_before_any_work(
    new: Workbench, library: Path, token_counts_folder: Path
) -> None:
    status, said = docmill(token_counts_folder, *ingest(new), env=environment(library, new.root, "links"))
    assert status == 1
    assert said.startswith(f"docmill: {new.root} cannot be written: its file system (")
    assert "has no hard links (Operation not permitted)" in said
    assert len(said.splitlines()) == 1
    assert [path.name for path in new.root.iterdir()] == ["lock"]


def test_a_store_without_locks_is_refused_to_writers_and_readers(
    bench: Workbench, library: Path, token_counts_folder: Path
) -> None:
    lacking = environment(library, bench.root, "locks")
    for arguments in (ingest(bench), ["search", "knob", "--store", bench.root]):
        status, said = docmill(token_counts_folder, *arguments, env=lacking)
        assert status == 1
        assert "cannot be locked: Function not implemented; locks (flock) keep writers apart" in said
        assert len(said.splitlines()) == 1


def test_a_store_without_hard_links_can_be_read(bench: Workbench, library: Path, token_counts_folder: Path) -> None:
    lacking = environment(library, bench.root, "links", "symlinks")
    assert docmill(token_counts_folder, "search", "knob", "--store", bench.root, env=lacking) == (0, "")


_RACE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from docmill.storage.files import put_if_absent
folder = Path(sys.argv[1])
for number in range(50):
    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(lambda text: put_if_absent(folder / str(number), text), [b"a", b"b", b"c", b"d"]))
    assert sum(won) == 1, won
    assert (folder / str(number)).read_bytes() == b"abcd"[won.index(True) :][:1]
assert len(list(folder.iterdir())) == 50
"""


def test_without_hard_links_a_name_is_taken_once(tmp_path: Path, library: Path) -> None:
    command = [sys.executable, "-c", _RACE, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=environment(library, tmp_path, *FAT), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_mirror_without_hard_links_can_be_read_if_names_are_taken_once(
    far: RemoteBench, library: Path, token_counts_folder: Path
) -> None:
    far.write({"guide.md": "# Guide\n\nTurn the red knob.\n"})
    far.ingest()
    mirrors = far.folder / "stick"
    search = ["search", "knob", "--store", far.address, "--set", f"mirrors={mirrors}"]
    lacking = environment(library, mirrors, *FAT)
    status, said = docmill(token_counts_folder, *search, env=lacking)
    assert (status, "fetched from" in said) == (0, True)
    status, said = docmill(token_counts_folder, "tag", "kept", *search[2:], env=lacking)
    assert (status, "has no hard links" in said) == (1, True)
    shutil.rmtree(mirrors)
    status, said = docmill(token_counts_folder, *search, env=environment(library, mirrors, *FAT, "renames"))
    assert (status, "neither hard links nor a rename that replaces no other file" in said) == (1, True)


@pytest.mark.slow
def test_a_store_on_a_share_keeps_what_a_store_promises(tmp_path: Path, library: Path) -> None:
    runs = Path(__file__).with_name("smb_runs.py")
    share = str(tmp_path / "share")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--basetemp", share, str(runs)]
    lacking = environment(library, Path(share), *SMB)
    done = subprocess.run(command, cwd=ROOT, env=lacking, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def mounted(folder: Path, options: str) -> str:
    """Return the shell's command that mounts an empty file system of memory, or skip the test."""
    tried = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", str(folder)]
    if shutil.which("unshare") is None or subprocess.run(tried, capture_output=True, check=False).returncode:
        pytest.skip("needs a user namespace that may mount a file system")
    return f"mount -t tmpfs -o {options} none '{folder}'"


def test_a_full_disk_ends_a_run_before_any_work(new: Workbench, token_counts_folder: Path) -> None:
    new.root.mkdir()
    status, said = docmill(token_counts_folder, *ingest(new), before=mounted(new.root, "size=128k"))
    assert status == 1
    assert said == (
        f"docmill: {new.root}: No space left on device; everything committed is intact: free some space and run again"
    )


def test_a_full_disk_can_be_tidied(bench: Workbench, token_counts_folder: Path, tmp_path: Path) -> None:
    bench.root.rename(tmp_path / "made")
    bench.root.mkdir()
    fill = f"cp -a '{tmp_path}/made/.' '{bench.root}'; cat /dev/zero > '{bench.root}/filler' 2>/dev/null || true"
    before = f"{mounted(bench.root, 'size=4m')}; {fill}"
    command = ["vacuum", "--set", "retention.keep_snapshots=1", "--store", str(bench.root)]
    assert docmill(token_counts_folder, *command, before=before) == (0, "")
    assert snapshots.numbers(tmp_path / "made") == [1, 2]


def test_a_file_system_for_reading_only_is_refused_to_writers(bench: Workbench, token_counts_folder: Path) -> None:
    bind = f"mount --bind '{bench.root}' '{bench.root}'; mount -o remount,bind,ro '{bench.root}'"
    before = f"{mounted(bench.folder / 'docs', 'size=4k')}; {bind}"
    status, said = docmill(token_counts_folder, *ingest(bench), before=before)
    assert status == 1
    reason = "cannot be written: Read-only file system; it can be read: search, sql, verify"
    assert said == f"docmill: {bench.root} {reason}"
    found = docmill(token_counts_folder, "search", "knob", "--store", bench.root, before=before)
    assert found == (0, "")


def test_a_copy_that_is_mounted_for_reading_only_answers_in_duckdb(
    bench: Workbench, token_counts_folder: Path, tmp_path: Path
) -> None:
    place = tmp_path / "mnt"
    place.mkdir()
    fill = f"cp -a '{bench.root}/.' '{place}'; mv '{bench.root}' '{tmp_path}/gone'; mount -o remount,ro '{place}'"
    before = f"{mounted(place, 'size=8m')}; {fill}"
    tool = Path(sys.executable).with_name("duckdb")
    asked = f"cd '{place}' && '{tool}' -init views.sql -csv -noheader -c 'SELECT count(*) FROM chunks' > '{tmp_path}/n'"
    status, said = docmill(token_counts_folder, "status", "--store", place, before=f"{before}; ({asked})")
    assert status == 0, said
    assert said.endswith("cannot be written: Read-only file system; it can be read: search, sql, verify")
    assert (tmp_path / "n").read_text().strip() == "1"
