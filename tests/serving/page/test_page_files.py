"""The files of the page: small, of one site, by name alone, and one script for a browser."""

import re
import unicodedata
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores
from docmill.flows.serving.page.page_bundle import FOLDER, bundle
from docmill.storage.search.keywords.analysis.folding import fold


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    """A server whose store is not there: the page itself holds nothing of it."""
    return TestClient(http_app(OpenStores({"handbook": tmp_path}), Searching({}), Access()), "http://127.0.0.1:8642")


def test_the_page_is_small_and_names_nothing_outside() -> None:
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 1_000_000
    for path in files:
        text = path.read_text()
        assert "http://" not in text.replace("http://www.w3.org/", "") or path.name == "LICENSES.txt", path
        assert not [word for word in ("https://", "eval(", "new Function") if word in text], path


def test_the_files_of_the_page_come_by_name_alone(client: TestClient) -> None:
    for path in ("/page/../http_app.py", "/page/%2e%2e/page_files.py", "/page/none.js"):
        assert client.get(path).status_code == 404
    [script] = re.findall(r'src="(page/page-[0-9a-f]{16}\.js)"', client.get("/").text)
    answer = client.get(f"/{script}")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "immutable" in answer.headers["cache-control"]
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    answer = client.get("/page/main.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    again = client.get("/page/main.js", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
    assert Path(FOLDER / "main.js").read_bytes() == answer.content


def test_the_page_folds_letters_as_the_index_does() -> None:
    text = (FOLDER / "words.js").read_text()
    left_out = re.compile(re.findall(r"LEFT_OUT = /(.*)/g", text)[0])
    nasals = re.compile(re.findall(r"NASALS = /(.*)/g", text)[0])
    letters = dict(re.findall(r"(\w): \"(\w+)\"", re.findall(r"LETTERS = \{(.*)\}", text)[0]))
    for sign in [*map(chr, range(0x80, 0x2000)), "हिन्दी", "हिंदी", "पञ्च", "चन्द्र", "ज़मीन"]:
        bare = nasals.sub("\u0902", left_out.sub("", unicodedata.normalize("NFD", sign.lower())))
        known = "".join(letters.get(one, one) for one in unicodedata.normalize("NFC", bare))
        assert fold(sign) == known.casefold() or sign.casefold() != sign.lower(), sign


def test_a_module_that_imports_what_another_does_not_export_is_refused(tmp_path: Path) -> None:
    (tmp_path / "main.js").write_text('import { one, two as three } from "./other.js";\nthree(one);\n')
    (tmp_path / "other.js").write_text("export const one = 1;\nexport const two = () => 2;\n")
    assert "three(one)" in bundle(tmp_path)
    (tmp_path / "other.js").write_text("export const one = 1;\nconst two = () => 2;\n")
    with pytest.raises(ValueError, match=r"main\.js: other\.js exports no two"):
        bundle(tmp_path)
