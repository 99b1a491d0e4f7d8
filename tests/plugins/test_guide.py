"""The guide shows the files of the example as they are."""

import re

from tests.kit.house import ROOT
from tests.plugins.distributions import EXAMPLE

GUIDE = (ROOT / "docs" / "guides" / "extend.md").read_text(encoding="utf-8")
SHOWN = dict(re.findall(r'```\w+ title="([^"]+)"\n(.*?)```\n', GUIDE, re.DOTALL))
OF_THE_READER = {"docmill.toml", "docs/mill.md", "docs/bread.cook"}


def test_the_guide_shows_every_file_of_the_example_as_it_is() -> None:
    files = {path.relative_to(EXAMPLE).as_posix(): path for path in [*EXAMPLE.rglob("*.py"), *EXAMPLE.glob("*.toml")]}
    assert set(SHOWN) - OF_THE_READER == set(files)
    for name, path in files.items():
        assert SHOWN[name] == path.read_text(encoding="utf-8"), f"{name} differs from the guide"
