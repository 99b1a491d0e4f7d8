"""Whether a folder gives events is read from the mounts of the system."""

from pathlib import Path

import pytest

from docmill.flows.watching.folder_events import Mount, deaf

TABLE = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
31 27 0:30 / /home rw shared:1 - nfs4 server:/home rw
32 27 0:31 / /srv/shared\040docs rw - cifs //server/docs rw
33 27 0:32 / /srv/local rw - xfs /dev/vdb rw
34 27 0:33 / /mnt rw - virtiofs share rw
35 34 0:34 / /mnt rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("folder", "found"),
    [
        ("/work", None),
        ("/home/me/docs", Mount(Path("/home"), "nfs4")),
        ("/srv/shared docs/a", Mount(Path("/srv/shared docs"), "cifs")),
        ("/srv", Mount(Path("/srv/shared docs"), "cifs")),
        ("/srv/local/docs", None),
        ("/mnt/docs", None),
        ("/homes", None),
    ],
)
def test_a_mount_that_others_change_is_found(tmp_path: Path, folder: str, found: Mount | None) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(TABLE)
    assert deaf(Path(folder), table) == found


def test_without_a_table_events_are_taken_for_given(tmp_path: Path) -> None:
    assert deaf(tmp_path, tmp_path / "none") is None
