"""No key without a reader: each has a test that sees its effect from outside."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from ferrule.app import discovery
from ferrule.config.root import ADAPTER_ROOTS
from ferrule.config.shape import Adapters, shape_of
from tests.effects import blind
from tests.gates._tree import ROOT, clean, functions, plant, syntax

LIST = ROOT / "tests" / "effects.toml"


def keys() -> list[str]:
    """List every key of the config, with those of the parts that come with the program."""
    adapters = Adapters(settings_for=discovery.settings_for, names=discovery.names)
    return shape_of(adapters, {kind: sorted(discovery.BUILT_IN[kind]) for kind in ADAPTER_ROOTS}).every_key()


def faults(root: Path, listed: Mapping[str, object], known: list[str]) -> list[str]:
    """List keys without a test, entries without a key, and tests that are not there or look at the config itself."""
    found = [f"{key}: no test sees its effect" for key in known if key not in listed]
    found += [f"{key}: there is no such key" for key in listed if key not in known]
    for key, test in listed.items():
        file, _, name = str(test).partition("::")
        path = root / file
        if not path.is_file() or name not in {function.name for function in functions(syntax(path))}:
            found.append(f"{key}: there is no test {test}")
        elif reads_config(syntax(path)):
            found.append(f"{key}: {file} imports ferrule.config and so does not look from outside")
    return found


def reads_config(tree: ast.Module) -> bool:
    """Tell whether a test file imports the config room."""
    return any(
        name == "ferrule.config" or name.startswith("ferrule.config.")
        for node in ast.walk(tree)
        for name in _imported(node)
    )


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def test_every_key_has_a_test_that_sees_its_effect() -> None:
    clean(faults(ROOT, tomllib.loads(LIST.read_text()), keys()))


@pytest.mark.timeout(300)  # it runs other tests, which may wait for a busy machine
@pytest.mark.parametrize("key", ["agents.*.instructions", "schema_version"])
def test_a_test_turns_red_when_its_key_is_left_out(key: str) -> None:
    assert blind.sees(key, blind.listed()[key])


def test_what_is_missing_or_looks_inside_is_seen(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            "tests/good.py": "def test_a() -> None: ...\n",
            "tests/inside.py": "from ferrule.config import load\ndef test_a() -> None: ...\n",
            "tests/deep.py": "import ferrule.config.load\ndef test_a() -> None: ...\n",
            "tests/name.py": "from ferrule import config\ndef test_a() -> None: ...\n",
        },
    )
    listed = {
        "a": "tests/good.py::test_a",
        "b": "tests/good.py::test_b",
        "c": "tests/gone.py::test_a",
        "d": "tests/inside.py::test_a",
        "e": "tests/deep.py::test_a",
        "f": "tests/name.py::test_a",
        "stale": "tests/good.py::test_a",
    }
    assert faults(root, listed, ["a", "b", "c", "d", "e", "f", "new"]) == [
        "new: no test sees its effect",
        "stale: there is no such key",
        "b: there is no test tests/good.py::test_b",
        "c: there is no test tests/gone.py::test_a",
        "d: tests/inside.py imports ferrule.config and so does not look from outside",
        "e: tests/deep.py imports ferrule.config and so does not look from outside",
        "f: tests/name.py imports ferrule.config and so does not look from outside",
    ]
