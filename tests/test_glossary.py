"""The glossary is true: few terms, in order, each with a meaning, and every name in it exists."""

import ast
import re
from functools import cache

import pytest
import typer

from docmill.flows.cli.app import app
from docmill.storage.arrow_schema import SCHEMAS
from tests.kit.house import MODULES, ROOT, syntax

SETTINGS = ("flows/config/input_settings.py", "flows/config/settings.py", "flows/config/store_settings.py")
MOST_TERMS = 40
MOST_SENTENCES = 2
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in GLOSSARY.splitlines() if line[:1] == "|"][2:]
TERMS = [row[0] for row in ROWS]
WHERE = sorted({name for row in ROWS for name in re.findall(r"`([^`]+)`", row[-1])})


def commands() -> set[str]:
    """Return every command of the command line, those of groups after the name of their group."""
    found = set()
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        found |= {f"docmill {name}", *(f"docmill {name} {inner}" for inner in getattr(command, "commands", ()))}
    return found


def settings() -> set[str]:
    """Return what `docmill.toml` can hold: keys, sections such as `[gate]`, and keys of sections."""
    files = [ROOT / name for name in SETTINGS]
    classes = {node.name: node for path in files for node in syntax(path).body if isinstance(node, ast.ClassDef)}
    tables = [found for path in files for found in re.findall(r"\[\[\w+\]\]", path.read_text(encoding="utf-8"))]
    held = {name: [s for s in node.body if isinstance(s, ast.AnnAssign)] for name, node in classes.items()}
    found = set(tables)
    for field in held["Settings"]:
        key, kind = ast.unparse(field.target), ast.unparse(field.annotation)
        found |= {key, f"[{key}]"} if kind in held else {key}
        found |= {f"[{key}] {ast.unparse(inner.target)}" for inner in held.get(kind, ())}
    return found


@cache
def known() -> set[str]:
    """Return every name that a term may be found under; the whole source is read for it, once."""
    bodies = [syntax(path).body for path in MODULES]
    defined = {node.name for body in bodies for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    return {
        *defined,
        "SCHEMAS",
        *(f"{name}()" for name in defined),
        *commands(),
        *settings(),
        *(f"{table}.{column}" for table, schema in SCHEMAS.items() for column in schema.names),
    }


def test_the_glossary_has_few_terms_in_alphabetical_order() -> None:
    assert 0 < len(TERMS) <= MOST_TERMS
    assert sorted(TERMS, key=str.casefold) == TERMS
    assert len(set(TERMS)) == len(TERMS)


@pytest.mark.parametrize("row", ROWS, ids=TERMS)
def test_every_term_has_a_short_meaning_and_a_place(row: list[str]) -> None:
    _, meaning, where = row
    assert meaning.endswith(".")
    assert 1 <= len(re.findall(r"[.](?:\s|$)", meaning)) <= MOST_SENTENCES
    assert "`" in where


def test_a_second_term_in_a_meaning_is_no_term_with_a_row() -> None:
    assert not set(re.findall(r"\*([^*]+)\*", GLOSSARY)) & set(TERMS)


@pytest.mark.parametrize("name", WHERE)
def test_every_name_in_the_last_column_exists(name: str) -> None:
    assert name in known(), f"the glossary says `{name}`, which is no class, column, command or setting"


def test_values_and_tables_in_meanings_exist() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in MODULES)
    named = {name for row in ROWS for name in re.findall(r"`([^`]+)`", row[1])}
    assert {name for name in named if name not in SCHEMAS and f'"{name}"' not in source} == set()
