"""The cache of answers and rights: nobody is answered from what others may see, however alike their questions are."""

from pathlib import Path

import httpx
import pytest

from docmill.flows.serving.access import Access, TokenFile
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.kept_searches import KeptSearches
from docmill.flows.serving.open_stores import OpenStores
from tests.access.company import files, founded
from tests.serving.http_server import running

pytestmark = pytest.mark.usefixtures("fake_model")

_TOKENS = {"token-of-the-board-0123456789": ["board"], "token-of-all-0123456789": ["all"]}
_QUERIES = ("mill wheel", "wheel mill", "zeppelin300")
"""The first two have one vector, so each of them is answered as the other where the cache may."""


def test_who_asks_what_others_have_asked_sees_its_own_documents_alone(tmp_path: Path) -> None:
    company = founded(tmp_path / "company", files())
    (tmp_path / "tokens.toml").write_text("".join(f'"{one}" = {names!r}\n' for one, names in _TOKENS.items()))
    access, kept = Access(port=0, tokens=TokenFile(tmp_path / "tokens.toml")), KeptSearches(100, 0.9)

    def asked(token: str, query: str, url: str) -> list[str]:
        answer = httpx.post(
            f"{url}/search", json={"query": query, "k": 50}, headers={"Authorization": f"Bearer {token}"}, timeout=60
        )
        return [hit["uri"] for hit in answer.raise_for_status().json()["hits"]]

    def all_asked(kept: KeptSearches | None) -> list[list[str]]:
        stores = OpenStores({"handbook": company.root}, access.without_asker)
        with running(http_app(stores, Searching({}, kept=kept), access), access) as url:
            return [asked(token, query, url) for query in _QUERIES for token in _TOKENS for _ in range(2)]

    assert all_asked(kept) == all_asked(None)
    assert kept.counts == {"new": 4, "same": 4, "alike": 4}  # what one has asked is new to the other
