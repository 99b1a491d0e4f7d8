"""Extras: what needs a package that is not installed says what to type, and nothing else breaks."""

import sys
import tomllib
from collections.abc import Iterator

import pytest

from docmill.flows.config.from_settings import recipe_of, space_of
from docmill.flows.config.settings import Settings
from docmill.flows.maintenance.checkup import _EXTRAS
from docmill.storage.errors import ConfigError
from docmill.storage.process.extras import extra
from docmill.storage.remote.objects.bucket import connect
from docmill.tasks.evaluate.retrieval_measures import measure_of
from docmill.tasks.split.syntax.grammars import absent, syntax_of
from tests.kit.house import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
RUST = "".join(f"fn step_{n}() -> u32 {{\n    let value = {n};\n    value + 1\n}}\n\n" for n in range(60))


@pytest.fixture
def without_rust(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take away the grammar of Rust, as where the extra `code` is not installed."""
    monkeypatch.setitem(sys.modules, "tree_sitter_rust", None)
    absent.cache_clear()
    yield
    absent.cache_clear()


def test_every_extra_says_what_is_missing_without_it() -> None:
    assert {*_EXTRAS} == {*PROJECT["optional-dependencies"]} - {"all"}


def test_all_holds_every_other_extra() -> None:
    others = [name for name in _EXTRAS if name != "all"]
    assert PROJECT["optional-dependencies"]["all"] == [f"docmill[{','.join(others)}]"]


def test_no_requirement_is_an_exact_version() -> None:
    required = [*PROJECT["dependencies"], *(one for each in PROJECT["optional-dependencies"].values() for one in each)]
    assert [one for one in required if "==" in one] == []


@pytest.mark.parametrize(("package", "name"), [("obstore", "s3"), ("ir_measures", "evaluate")])
def test_what_needs_a_missing_package_says_what_to_type(
    package: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in [one for one in sys.modules if one.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, one)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=rf"pip install 'docmill\[{name}\]'"):
        connect("s3://no-such-bucket/store") if name == "s3" else measure_of.__wrapped__("nDCG@10")


def test_another_error_of_a_package_is_not_taken_for_its_absence() -> None:
    with pytest.raises(ImportError, match="its library is too old"), extra("s3", "a bucket"):
        raise ImportError("its library is too old")


@pytest.mark.usefixtures("without_rust")
def test_code_without_its_grammar_is_split_as_text() -> None:
    assert absent() == ("rust",)
    assert syntax_of(RUST, "rust") is None
    assert syntax_of("def f():\n    return 1\n", "python") is not None


def test_code_is_split_again_once_its_grammar_is_installed(fake_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.model_validate({"embedding": {"model": fake_model}})
    recipe = recipe_of(settings, space_of(settings))

    def keys() -> list[str]:
        absent.cache_clear()
        return [
            recipe.chunk_key("text", name, [kind], "{}") for name, kind in (("a.rs", "code"), ("a.md", "narrative"))
        ]

    with_grammar = keys()
    monkeypatch.setitem(sys.modules, "tree_sitter_rust", None)
    code, prose = keys()
    assert code != with_grammar[0]
    assert prose == with_grammar[1]
    monkeypatch.undo()
    assert keys() == with_grammar
