"""Facets: the counts that the search shows are those that SQL gives."""

import os
from pathlib import Path

import pytest

from docmill.storage.reader.facets import facet_counts
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
