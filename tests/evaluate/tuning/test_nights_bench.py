"""The bench of nights: judgements gain where a gain exists, and questions that nobody asked show it."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.finding.nights import SETS, nights

pytestmark = pytest.mark.usefixtures("fake_model")


def test_nights_gain_on_a_page_in_chunks_that_are_too_large(tmp_path: Path) -> None:
    page = replace(SETS[-1], toml='[embedding]\nmodel = "token-counts"\n')
    found = [*nights(page, tmp_path, 4)]
    assert [one.number for one in found] == [0, 1, 2, 3, 4]
    assert found[1].judged == 5, "half of ten people judge on a day"
    assert not any(one.change.verdict == "worse" for one in found)
    assert found[-1].change.verdict == "better"
    assert sum(len(one.adopted) for one in found) >= 1
    assert "[[routes]]" in (tmp_path / "docmill.toml").read_text()
