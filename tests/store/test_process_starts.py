"""A process that does not start is tried once more, for a statement and for a document."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from docmill.storage.errors import Transient
from docmill.storage.sql.statement import Statement
from docmill.storage.sql.statement_pool import StatementPool
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool
from tests.kit.pages.warm import started_by


def double(number: int) -> int:
    return number * 2


def stated() -> object:
    with closing(StatementPool()) as pool:
        return pool.ask(Statement("SELECT 42 AS n", {}), {}).column("n")[0].as_py()


def stated_ahead() -> object:
    with closing(StatementPool()) as pool:
        pool.prepare()
        return pool.ask(Statement("SELECT 42 AS n", {}), {}).column("n")[0].as_py()


def worked() -> object:
    with Pool(Limits(workers=1)) as pool:
        return next(pool.map(double, [21]))


@pytest.fixture
def fails(tmp_path: Path, warm_programs: Path) -> Iterator[Path]:
    """Return a file; as many of the next processes as it has lines end at once."""
    left = tmp_path / "left"
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\n[ -s {left} ] && sed -i 1d {left} && exit 7\nexec {warm_programs}/python "$@"\n')
    program.chmod(0o755)
    with started_by(str(program)):
        yield left
    assert left.read_text() == ""


@pytest.mark.parametrize("ask", [stated, stated_ahead, worked])
def test_a_process_that_does_not_start_is_tried_once_more(fails: Path, ask: Callable[[], object]) -> None:
    fails.write_text("once\n")
    assert ask() == 42


@pytest.mark.parametrize("ask", [stated, worked])
def test_a_process_that_does_not_start_twice_is_told(fails: Path, ask: Callable[[], object]) -> None:
    fails.write_text("once\ntwice\n")
    with pytest.raises(Transient, match=r"did not start \(exit status 7\)"):
        ask()
