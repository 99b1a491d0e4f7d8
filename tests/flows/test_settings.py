"""Settings: where they come from, which wins, and what a wrong one is told."""

import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from docmill.flows.cli.commands.init import template
from docmill.flows.config.configuration import Key, find_file, keys, load
from docmill.flows.config.from_settings import routes_of
from docmill.flows.config.settings import Settings
from docmill.storage.errors import ConfigError

CONTEXT_TOKENS = ("chunk", "context_tokens")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str) -> Path:
    path = folder / "docmill.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_set_gives_the_defaults() -> None:
    assert load() == Settings()


def test_a_flag_wins_over_the_environment_over_the_file_over_the_default(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "[chunk]\ncontext_tokens = 10\ncontextualizer = 'none'\n[search]\nweight = 0.25")
    assert load().chunk.context_tokens == 10
    monkeypatch.setenv("DOCMILL_CHUNK__CONTEXT_TOKENS", "20")
    assert load().chunk.context_tokens == 20
    settings = load({CONTEXT_TOKENS: "30"})
    assert settings.chunk.context_tokens == 30
    assert settings.chunk.contextualizer == "none"
    assert settings.search.weight == 0.25


def test_the_file_of_a_folder_above_is_found_and_its_paths_start_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(folder, 'store = "kept"\nsources = ["docs", "mail=in/mail", "s3://b/x"]\nembedding.model = "./model"')
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert find_file(below) == path
    settings = load()
    assert settings.store == folder / "kept"
    assert settings.sources == (f"{folder}/docs", f"mail={folder}/in/mail", "s3://b/x")
    assert settings.embedding.model == f"{folder}/model"


def test_every_path_of_the_file_starts_at_its_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        folder,
        'sources = "docs"\nmirrors = "near"\nchunk.tokenizer = "sizes/tokenizer.json"\nsearch.rerank = "./judge"',
    )
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    settings = load()
    assert (settings.sources, settings.mirrors) == ((f"{folder}/docs",), f"{folder}/near")
    assert settings.chunk.tokenizer == f"{folder}/sizes/tokenizer.json"
    assert settings.search.rerank == f"{folder}/judge"
    write(folder, 'chunk.tokenizer = "cl100k_base"\nsearch.rerank = "late"')
    assert (load().chunk.tokenizer, load().search.rerank) == ("cl100k_base", "late")


def test_a_flag_s_path_stays_relative_to_the_working_directory(folder: Path) -> None:
    write(folder, 'store = "kept"')
    assert load({("store",): "here"}).store == Path("here")


def test_a_hub_name_is_not_taken_for_a_path(folder: Path) -> None:
    write(folder, '[embedding]\nmodel = "someone/some-model"')
    assert load().embedding.model == "someone/some-model"


def test_the_file_can_be_named_by_flag_and_by_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = folder / "other.toml"
    named.write_text("[search]\nweight = 0.1")
    assert load(config=named).search.weight == 0.1
    monkeypatch.setenv("DOCMILL_CONFIG", str(named))
    assert load().search.weight == 0.1


def test_an_empty_variable_sets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_STORE", "")
    assert load().store == Path("store")


def test_lists_and_tables_are_json_in_a_variable_and_one_text_is_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_SOURCES", "my docs")
    monkeypatch.setenv("DOCMILL_DISCOVER__INCLUDE", '["*.md", "*.txt"]')
    monkeypatch.setenv("DOCMILL_ROUTES", '[{"type": "code", "strategy": "recursive"}]')
    settings = load({("split",): '{"recursive": {"size": 9}}'})
    assert settings.sources == ("my docs",)
    assert settings.discover.include == ("*.md", "*.txt")
    assert settings.routes[0].type == "code"
    assert settings.split == {"recursive": {"size": 9}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[chunk]\ncontxt_tokens = 3", "chunk.contxt_tokens: no such key; the nearest is chunk.context_tokens"),
        ("context_tokens = 3", "context_tokens: no such key; the nearest is chunk.context_tokens"),
        ("[serch]\nweight = 1", "serch: no such key; the nearest is search"),
        ("qq = 3", "qq: no such key; there are store, sources, engine"),
        ("[search]\nweight = 5", "search.weight: input should be less than or equal to 1, got 5"),
        ("[search]\nweight = nan", "search.weight: input should be a finite number, got nan"),
        ('store = ""', "store: a store needs a name: a folder or s3://BUCKET/PREFIX, got ''"),
        ('store = "gs://bucket/docs"', "store: a store must be a folder or s3://BUCKET/PREFIX (gs:// can be a "),
        ('engine = "spark"', "engine: input should be 'auto', 'local', 'prefect' or 'dask', got 'spark'"),
        ('[[routes]]\nglob = "a"\nstrategi = "x"', "the nearest is routes[0].strategy"),
        ('[[routes]]\nstrategy = "x"', "routes[0]: must have exactly one of glob and type"),
        ("chunk = 3", "chunk: input should be a table, got 3"),
        ('source = ["docs"]', "source: input should be a table (or is sources meant?)"),
        ('source = "docs"', "source: input should be a table (or is sources meant?)"),
        ("[source]\nwiki = 3", "source.wiki: input should be a table"),
        ('[discover]\ninclude = { a = "b" }', "discover.include: input should be a list, got {'a': 'b'}"),
        ('routes = "[{]"', "routes: not the JSON of a list or a table: "),
        ("a =", "docmill.toml:1: Invalid value"),
    ],
)
def test_a_wrong_file_is_told_the_key_the_value_and_what_would_be_right(folder: Path, text: str, message: str) -> None:
    path = write(folder, text)
    with pytest.raises(ConfigError) as caught:
        load()
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_a_wrong_value_is_told_by_the_name_that_set_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_CHUNK__CONTEXT_TOKENS", "many")
    with pytest.raises(ConfigError, match=r"^DOCMILL_CHUNK__CONTEXT_TOKENS: .*got 'many'$"):
        load()
    monkeypatch.delenv("DOCMILL_CHUNK__CONTEXT_TOKENS")
    with pytest.raises(ConfigError, match=r"^--max-calls: .*got 'few'$"):
        load({("model", "max_calls"): "few"})


def test_an_empty_name_is_not_the_working_directory(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--store: a store needs a name"):
        load({("store",): ""})
    write(folder, 'sources = ["", "docs"]')
    assert load().sources == ("", str(folder / "docs"))


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ({"fixd": {"size": 30}}, r"^\[split\] strategy 'fixd' does not exist; the nearest is 'fixed'$"),
        ({"fixed": {"sise": 30}}, r"^\[split\] fixed has no option 'sise'; the nearest is 'size'$"),
        ({"fixed": {"size": 3}}, r"^\[split\] fixed: size must be an integer in \[16, 8192\], got 3$"),
    ],
)
def test_options_of_a_strategy_are_checked_though_no_route_takes_it(split: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        routes_of(load({("split",): split}))


def test_an_unknown_variable_is_told_the_nearest_right_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_CHUNK__CONTEXT_TOKEN", "3")
    with pytest.raises(ConfigError, match="the nearest is DOCMILL_CHUNK__CONTEXT_TOKENS"):
        load()


def test_a_named_file_that_is_missing_is_an_error(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"no such file; `docmill init` writes a docmill\.toml"):
        load(config=folder / "missing.toml")


@pytest.mark.parametrize("key", keys(), ids=lambda key: key.dotted)
def test_every_key_says_what_it_means_and_can_be_a_variable(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    assert key.field.description
    default = json.dumps(Settings().model_dump(mode="json"))
    value = json.loads(default)
    for step in key.path:
        value = value[step]
    monkeypatch.setenv(key.variable, value if isinstance(value, str) else json.dumps(value))
    assert load() == Settings()


def test_the_written_file_sets_nothing_and_its_lines_taken_out_of_comments_set_the_defaults(folder: Path) -> None:
    write(folder, template())
    assert load() == Settings()
    lines = [line[1:] if line.startswith("#") and line[1:2].isalpha() else line for line in template().splitlines()]
    write(folder, "\n".join(lines))
    settings = load()
    assert settings.model_copy(update={"store": Path("store")}) == Settings()
    assert sum(" = " in line and not line.startswith("#") for line in lines) == len(keys())


def test_the_examples_of_the_written_file_are_valid(folder: Path) -> None:
    examples = [str(example) for key in keys() for example in key.field.examples or ()]
    write(folder, "\n".join(examples))
    found = load()
    several = (found.routes, found.split, found.source, found.parse.readers)
    tables = (found.model.prices, found.metadata, found.access.sources)
    assert len(examples) == sum(map(len, several)) + sum(map(bool, tables))


_VALUES: tuple[Any, ...] = (
    *(True, 0, 1, -1, 2.5, 10**12, math.inf, None),
    *("", "x", "auto", "2", "links", "[]", "{", "a\nb", "\ud800", Path("x")),
    *([], ["a"], ("a", "b"), [1], [{"glob": "*", "strategy": "fixed"}], [{"glob": "*", "type": "faq"}]),
    *({}, {"a": 1}, {"a": "text"}, {"input": 1}, {"a": ["all"]}, {1: 2}, {"a": {"b": 2}}),
)


@pytest.mark.parametrize("key", keys(), ids=lambda key: key.dotted)
def test_a_value_is_what_pydantic_makes_of_it(key: Key) -> None:
    for value in _VALUES:
        given: Any = value
        for step in reversed(key.path):
            given = {step: given}
        assert _outcome(Settings._model(), given) == _outcome(Settings, given), value


def _outcome(make: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Return the settings by name, with the type of each, or why there are none."""
    try:
        made = make(**given)
    except ValueError as error:
        return str(error)
    return {name: repr(getattr(made, name)) for name in Settings.model_fields}


def test_settings_are_part_of_models_of_others_and_immutable() -> None:
    class Job(BaseModel):
        settings: Settings

    job = Job.model_validate({"settings": {"search": {"weight": "0.5"}}})
    assert job.settings == Settings.model_validate({"search": {"weight": 0.5}})
    assert job.model_dump()["settings"]["search"]["weight"] == 0.5
    with pytest.raises(ValidationError, match=r"settings\.search\.weight"):
        Job.model_validate({"settings": {"search": {"weight": 2}}})
    with pytest.raises(AttributeError, match="`model_copy` makes another with a new store"):
        job.settings.store = Path("other")  # type: ignore[misc]
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del job.settings.store
    assert hash(job.settings.search) == hash(job.settings.search.model_copy(update={}))


def test_passwords_are_not_shown() -> None:
    assert "secret" not in repr(load({("parse", "passwords"): ["secret"]}))


def test_settings_are_plain_values_that_cross_processes() -> None:
    settings = load({CONTEXT_TOKENS: "7"})
    assert type(settings) is Settings
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert Settings.model_validate_json(settings.model_dump_json()) == settings
