"""Every reason that a document is rejected for is one that is told in the one list of them."""

import ast
import re

from docmill.storage.errors import REASONS
from tests.kit.house import MODULES, ROOT, syntax


def raised() -> set[str]:
    """Return the first argument of every `Rejected(...)` and of its kinds, where it is a literal or names one."""
    nodes = [node for path in MODULES for node in ast.walk(syntax(path))]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    named = {
        target.id: node.value.value
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id.isupper()
    }
    kinds = ("Rejected", "OverLimit", "OverRatio")
    first = [call.args[0] for call in calls if isinstance(call.func, ast.Name) and call.func.id in kinds and call.args]
    leaves = [leaf for value in first for leaf in ast.walk(value)]
    found = [leaf.value for leaf in leaves if isinstance(leaf, ast.Constant)]
    found += [named.get(leaf.id) for leaf in leaves if isinstance(leaf, ast.Name)]
    return {one for one in found if isinstance(one, str)}


def test_every_reason_in_the_code_is_in_the_list_and_every_one_in_the_list_is_used() -> None:
    assert raised() == set(REASONS)


def test_the_reference_tells_every_reason_in_the_same_words() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    rows = re.findall(r'^\| <a id="\w+"></a>`(\w+)` \| (.+?) \| ', page, re.MULTILINE)
    assert {reason: re.sub(r"\[`(.+?)`\]\(.+?\)", r"\1", said) for reason, said in rows} == REASONS
