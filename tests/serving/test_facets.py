"""Facets: the counts that the search shows are those that SQL gives."""

import os
from pathlib import Path

import pyarrow as pa
import pytest

from docmill.storage.snapshots.history.snapshots import StoredFile
from docmill.storage.snapshots.read import facets
from docmill.storage.snapshots.read.facets import facet_counts
from docmill.storage.snapshots.tables.tables import read_stored_file
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")

IN_SQL = """
SELECT 'content_type' AS facet, content_type AS value, count(*) AS chunks FROM chunks GROUP BY ALL
UNION ALL
SELECT CASE 0 WHEN grouping(format) THEN 'format' WHEN grouping(lang) THEN 'lang' WHEN grouping(folder) THEN 'folder'
    ELSE 'year' END, coalesce(format, lang, folder, year), sum(chunks)::BIGINT
FROM (
    SELECT format, lang, CASE WHEN contains(uri, '/') THEN split_part(uri, '/', 1) || '/' ELSE '' END AS folder,
        strftime(coalesce(modified, created, make_timestamp(mtime_ns // 1000)), '%Y') AS year, chunks FROM documents
) GROUP BY GROUPING SETS (format, lang, folder, year)
"""


def test_facets_are_the_counts_of_sql(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write(
        {
            "git.md": "# Undo\n\nTo undo a commit, reset the branch of the repository and push it to the server.\n",
            "minutes/may/ferry.md": "---\ndate: 2019-05-03\n---\n\n# May\n\nThe ferry was on time.\n",
            "minutes/prices.csv": "name,price\n" + "".join(f"thing {number},{number}\n" for number in range(400)),
            "odd\n/name.md": "---\nlang: de\n---\n\n# Regen\n\nEs regnet, und der Fährmann bleibt zu Hause.\n",
            "empty.md": "---\ntitle: nothing\n---\n",
        }
    )
    os.utime(bench.docs / "git.md", (1, 1))
    bench.ingest()
    with bench.store as store:
        counted = facet_counts(store.stored)
        in_sql = store.sql(f"FROM ({IN_SQL}) WHERE value <> '' AND chunks > 0 ORDER BY chunks DESC, value").to_pylist()
    assert counted == in_sql
    found = {(one["facet"], one["value"]) for one in counted}
    assert {("folder", "minutes/"), ("year", "1970"), ("year", "2019"), ("lang", "de"), ("format", "csv")} <= found
    assert {facet for facet, _ in found} == {"content_type", "format", "lang", "folder", "year"}


def test_after_a_run_only_the_files_that_changed_are_counted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[StoredFile] = []

    def counting(root: Path, piece: StoredFile, columns: list[str]) -> pa.Table:
        read.append(piece)
        return read_stored_file(root, piece, columns)

    monkeypatch.setattr(facets, "read_stored_file", counting)
    bench = Workbench(tmp_path)
    bench.write({f"{number}.md": f"# Page {number}\n\n" + "The mill grinds. " * 300 for number in range(150)})
    bench.ingest()
    with bench.store as store:
        facet_counts(store.stored)
        files = [*store.stored.pieces("chunks"), *store.stored.pieces("documents")]
    assert sorted(map(repr, read)) == sorted(map(repr, files))
    assert len(files) > 4
    read.clear()
    bench.write({"new.md": "# New\n\nIt is new.\n"})
    bench.ingest()
    with bench.store as store:
        counts = facet_counts(store.stored)
        chunks = store.snapshot.rows("chunks")
    assert len(read) == 2  # the bucket of the new document, of both tables
    assert sum(one["chunks"] for one in counts if one["facet"] == "format") == chunks
