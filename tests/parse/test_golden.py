"""Each format's samples are read as their golden files say; `tests.kit.making.make_golden` writes these anew."""

import re
from pathlib import Path

import pytest

from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool
from tests.kit.making import make_golden


@pytest.mark.parametrize("sample", make_golden.samples(), ids=lambda path: f"{make_golden.format_of(path)}/{path.name}")
def test_a_sample_is_read_as_its_golden_file_says(sample: Path) -> None:
    assert make_golden.reading(sample) == make_golden.golden(sample).read_bytes().decode()


def test_samples_are_read_without_a_network() -> None:
    samples = make_golden.samples()
    with Pool(Limits(workers=2)) as pool:  # whose workers have none
        readings = list(pool.map(make_golden.reading, samples))
    assert readings == [make_golden.golden(sample).read_bytes().decode() for sample in samples]


CONVERTED = {"doc", "pst"}  # by programs that a machine may lack: see test_libreoffice and test_outlook_store


def test_every_format_has_a_sample_that_is_read_as_it() -> None:
    found = {(make_golden.format_of(path), make_golden.reading(path).split()[1]) for path in make_golden.samples()}
    assert {name for name in FORMATS if (name, name) not in found} == CONVERTED


def test_no_golden_file_is_left_over() -> None:
    assert set(make_golden.FOLDER.rglob("*.golden")) == set(map(make_golden.golden, make_golden.samples()))


def test_the_reference_has_the_formats_of_the_registry() -> None:
    page = (make_golden.ROOT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| .+? \| (.+?) \|$", page, re.MULTILINE)
    assert rows == [(form.name, form.files, form.by) for form in FORMATS.values()]
