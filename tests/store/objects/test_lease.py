"""One writer among all machines, and one that died is in nobody's way for long."""

import json

import pytest

from docmill.storage.address import mark_of
from docmill.storage.errors import Locked
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.remote.objects import lease
from tests.kit.remote_bench import RemoteBench


def hold_lease(bench: RemoteBench, **holder: object) -> None:
    """Leave the lease as a writer on another machine has it."""
    value = {"token": "t", "mirror": "m", "pid": 77, "host": "elsewhere", "since": "2026-01-01", **holder}
    bench.objects.put(lease.KEY, json.dumps(value).encode())


def test_a_second_writer_is_told_who_holds_the_store(far: RemoteBench) -> None:
    far.write({"a.txt": "Words.\n"})
    hold_lease(far)
    with pytest.raises(Locked, match=rf"{far.address} .+ process 77 on elsewhere since 2026-01-01; .+--wait"):
        far.ingest()


@pytest.mark.parametrize("damaged", [b'{"token": "t", "pid": 7, "hnst": "elsewhere"}', b"{", b"[]", b""])
def test_a_damaged_lease_is_one_that_another_process_holds(far: RemoteBench, damaged: bytes) -> None:
    with open_folder(far.root).lock():
        far.objects.put(lease.KEY, damaged)
        with pytest.raises(Locked, match="another writer has taken it over"):
            lease.confirm(far.objects, far.root)


def test_a_lease_that_ran_out_is_taken_over_and_its_former_holder_notices(
    far: RemoteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold_lease(far)
    monkeypatch.setattr(lease, "LASTS_S", -1.0)
    with open_folder(far.root).lock():
        monkeypatch.undo()
        with pytest.raises(Locked, match=r"on .+ since 20"), open_folder(far.on("two").root).lock():
            pass
        hold_lease(far)
        with pytest.raises(Locked, match=r"process 77 .+ has taken it over"):
            lease.confirm(far.objects, far.root)


def test_a_writer_that_died_is_in_no_ones_way_on_its_own_machine(far: RemoteBench) -> None:
    mark = mark_of(far.root)
    assert mark is not None
    with open_folder(far.root).lock():
        left = far.objects.read(lease.KEY)
    far.objects.put(lease.KEY, left)
    with pytest.raises(Locked), open_folder(far.on("two").root).lock():
        pass
    with open_folder(far.root).lock():
        assert json.loads(far.objects.read(lease.KEY))["mirror"] == mark.mirror
    with open_folder(far.on("two").root).lock():
        pass
