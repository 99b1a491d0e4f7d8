"""The stores that a server keeps open: which snapshot they answer from."""

import shutil
from pathlib import Path

import pytest

from docmill.errors import StoreError
from docmill.flows.serving.open_stores import OpenStores
from docmill.storage.remote.mirror.open_folder import open_folder
from tests.kit.remote_bench import RemoteBench
from tests.kit.workbench import Workbench


def test_a_store_that_was_made_anew_is_taken_up_although_its_number_is_the_same(
    tmp_path: Path, fake_model: str
) -> None:
    assert fake_model
    own = Workbench(tmp_path)
    own.write({"a.md": "# Ship\n\nA zeppelin lands on the lake.\n"})
    own.ingest()
    stores = OpenStores({"store": own.root})
    assert stores.get().store.search("zeppelin", k=1)[0].text.endswith("lands on the lake.")
    shutil.rmtree(own.root)
    own.write({"a.md": "# Ship\n\nA zeppelin sinks in the lake.\n"})
    own.ingest()
    stores.take_up()
    for at in (None, 1):
        served = stores.get(at=at)
        assert served.head == {"store": "store", "snapshot": 1}
        assert served.store.search("zeppelin", k=1)[0].text.endswith("sinks in the lake.")


def test_a_store_in_a_bucket_that_cannot_be_opened_says_so_to_everybody_who_asks(far: RemoteBench) -> None:
    stores = OpenStores({"store": open_folder(far.address).root})
    for _ in range(2):  # the second one asks before the bucket is looked at again
        with pytest.raises(StoreError, match="s3://"):
            stores.get()
