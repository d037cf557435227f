"""Looking at an adapter costs nothing: its module imports no SDK, shown in a fresh process each."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gates._tree import ROOT, SRC, module_name, plant, python_files, syntax

ALLOWED = frozenset(
    {
        "annotated_types",
        "ferrule",
        "orjson",
        "pydantic",
        "pydantic_core",
        "typing_extensions",
        "typing_inspection",
    }
)
"""Modules beyond the standard library that declaring an adapter may load; an SDK is loaded by ``open``."""

PROBE = """
import importlib, json, sys
before = set(sys.modules)
importlib.import_module(sys.argv[1])
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""


def adapters(package: Path) -> list[str]:
    """List the modules that bind ``ADAPTER`` themselves."""
    return [
        module_name(package, path)
        for path in python_files(package)
        if any(isinstance(node, ast.Assign | ast.AnnAssign) and "ADAPTER" in _names(node) for node in syntax(path).body)
    ]


def _names(node: ast.Assign | ast.AnnAssign) -> list[str]:
    bound = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in bound if isinstance(target, ast.Name)]


def loaded_too_much(source: Path, module: str) -> list[str]:
    """Import `module` in a fresh process and list what it loads beyond the allowed."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, module], env=environment, capture_output=True, text=True, check=True
    )
    return sorted(set(json.loads(done.stdout)) - ALLOWED - sys.stdlib_module_names)


@pytest.mark.parametrize("module", adapters(SRC))
def test_declaring_an_adapter_loads_no_library_of_its_own(module: str) -> None:
    assert [name for name in loaded_too_much(ROOT / "src", module) if not name.startswith("_")] == []


def test_importing_the_package_or_its_values_loads_the_standard_library_only() -> None:
    assert loaded_too_much(ROOT / "src", "ferrule.types.events") == []


def test_a_planted_library_is_seen(tmp_path: Path) -> None:
    text = "import aiohttp\nADAPTER = 1\n"
    package = plant(tmp_path / "planted", {"__init__.py": "", "channels/__init__.py": "", "channels/loud.py": text})
    assert adapters(package) == ["planted.channels.loud"]
    assert "aiohttp" in loaded_too_much(tmp_path, "planted.channels.loud")
