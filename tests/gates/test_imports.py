"""Direction: floors and contracts, and what the import graph cannot see."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gates._tree import ROOT, SRC, at, clean, dotted, first_party, modules, plant, python_files, syntax, targets

TABLES = frozenset({"__init__.py", "app/discovery.py"})
"""With one file of the command line, the only ones that import by name."""


def broken_contracts(root: Path) -> str:
    """Run the import contracts of the checkout at `root`; "" when all are kept, else the report."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "COLUMNS": "500"}
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stdout.partition("---\nContracts\n")[2] + done.stderr


def unseen_folders(package: Path) -> list[str]:
    """List folders that hold Python files but no ``__init__.py``: the import graph cannot see them."""
    folders = {path.parent for path in python_files(package)}
    return [str(f.relative_to(package.parent)) for f in sorted(folders) if not (f / "__init__.py").exists()]


def dynamic_imports(package: Path) -> list[str]:
    """List imports by name outside the three tables: the public face, the command line, discovery."""
    found: list[str] = []
    command_line: set[Path] = set()
    for path in python_files(package):
        name = path.relative_to(package).as_posix()
        lines = [at(package, path, line, "imports by name") for line in _by_name(syntax(path))]
        if name.startswith("cli/") and lines:
            command_line.add(path)
        elif name not in TABLES:
            found += lines
    if len(command_line) > 1:
        found += [f"{path.relative_to(package)}: one table of the command line is enough" for path in command_line]
    return found


def _by_name(tree: ast.Module) -> list[int]:
    lines: list[int] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(a.name in ("importlib", "runpy", "importlib.util") for a in node.names):
            lines.append(node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.module in ("importlib", "importlib.util", "runpy"):
            wanted = {alias.name for alias in node.names} - {"metadata", "resources"}
            lines += [node.lineno] if wanted else []
        elif isinstance(node, ast.Call) and dotted(node.func) in ("__import__", "exec", "eval"):
            lines.append(node.lineno)
    return lines


def missing_targets(package: Path) -> list[str]:
    """List entries of the three tables that name no module of the package."""
    known = modules(package)
    found: list[str] = []
    for path in python_files(package):
        tree = syntax(path)
        if not _by_name(tree):
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            text = node.value
            if not text.startswith(f"{package.name}.") or text.endswith("."):
                continue
            target = text.partition(":")[0]
            if target.replace(".", "").replace("_", "").isalnum() and target not in known:
                found.append(at(package, path, node.lineno, f"names {target}, which does not exist"))
    return found


def hidden_imports(package: Path) -> list[str]:
    """List first-party imports inside functions."""
    found: list[str] = []
    for name, path in modules(package).items():
        for function in ast.walk(syntax(path)):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(function):
                wanted = targets(node, name, is_package=path.name == "__init__.py")
                if any(t.split(".")[0] == package.name for t in wanted):
                    found.append(at(package, path, node.lineno if isinstance(node, ast.stmt) else 0, "hidden import"))
    return sorted(set(found))


def empty_rooms(package: Path) -> list[str]:
    """List rooms in which no file holds more than a docstring."""
    rooms = [folder for folder in sorted(package.iterdir()) if any(python_files(folder) if folder.is_dir() else ())]
    return [room.name for room in rooms if not any(_has_code(syntax(path)) for path in python_files(room))]


def _has_code(tree: ast.Module) -> bool:
    return any(not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)) for n in tree.body)


def package_cycles(package: Path) -> list[str]:
    """List packages that import a module below them which imports the package back."""
    graph = first_party(package)
    return [
        f"{name} and {child} import each other"
        for name, imported in sorted(graph.items())
        for child in sorted(imported)
        if child.startswith(f"{name}.") and name in graph[child]
    ]


Rule = Callable[[Path], list[str]]
RULES: dict[str, Rule] = {
    "unseen_folders": unseen_folders,
    "dynamic_imports": dynamic_imports,
    "missing_targets": missing_targets,
    "hidden_imports": hidden_imports,
    "empty_rooms": empty_rooms,
    "package_cycles": package_cycles,
}


@pytest.mark.parametrize("rule", sorted(RULES))
def test_imports_are_visible_and_go_down(rule: str) -> None:
    clean(RULES[rule](SRC))


def test_every_contract_is_kept() -> None:
    report = broken_contracts(ROOT)
    assert not report, report


PLANTS = {
    "unseen_folders": {"room/deep/a.py": "X = 1\n"},
    "dynamic_imports": {"core/a.py": "from importlib import import_module\n"},
    "missing_targets": {"app/discovery.py": "import importlib\nT = {'x': 'ferrule.channels.gone'}\n"},
    "hidden_imports": {"core/a.py": "def f():\n    from ..types import b\n    return b\n"},
    "empty_rooms": {"scheduler/__init__.py": '"""Later."""\n'},
    "package_cycles": {"core/__init__.py": "from .a import X\n", "core/a.py": "from ferrule.core import Y\nX = 1\n"},
}


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_planted_fault_is_seen(rule: str, tmp_path: Path) -> None:
    package = plant(tmp_path / "ferrule", {"__init__.py": "", "types/__init__.py": "B = 1\n", "types/b.py": "C = 1\n"})
    assert RULES[rule](package) == []
    plant(package, PLANTS[rule])
    assert RULES[rule](package) != []


CLEAN = {
    "src/ferrule/__init__.py": "",
    "src/ferrule/types/__init__.py": "",
    "src/ferrule/ports/__init__.py": "",
    "src/ferrule/policy/__init__.py": "",
    "src/ferrule/storage/__init__.py": "import apsw\n",
    "src/ferrule/config/__init__.py": "import pydantic\nfrom ferrule import storage\n",
    "src/ferrule/core/__init__.py": "from ferrule import ports, types\n",
    "src/ferrule/tools/__init__.py": "",
    "src/ferrule/tools/_shared.py": "X = 1\n",
    "src/ferrule/tools/files.py": "from ferrule.tools._shared import X\n",
    "src/ferrule/providers/__init__.py": "",
    "src/ferrule/app/__init__.py": "from ferrule import config, core\n",
    "src/ferrule/gateway/__init__.py": "from ferrule import app\n",
}
FAULTS = {
    "floors": ("policy/a.py", "from ferrule import storage\n", "ferrule.policy.a"),
    "floors-type-only": (
        "types/a.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ferrule.ports import p\n",
        "ferrule.types.a",
    ),
    "floors-same": ("providers/a.py", "from ferrule.tools import files\n", "ferrule.providers.a"),
    "floors-exhaustive": ("utils.py", "X = 1\n", "utils"),
    "core-clean": ("core/b.py", "from ferrule import config\n", "ferrule.core.b -> ferrule.config"),
    "core-clean-chain": ("types/b.py", "import subprocess\n", "-> ferrule.types.b -> subprocess"),
    "tools-handles": ("tools/shell.py", "import tempfile\n", "ferrule.tools.shell:1 imports tempfile"),
    "surfaces": ("gateway/a.py", "from ferrule import core\n", "ferrule.gateway.a:1 imports ferrule.core"),
    "siblings": ("tools/grep.py", "from ferrule.tools import files\n", "imports ferrule.tools.files"),
    "siblings-shared": ("tools/_odd.py", "from ferrule.tools import files\n", "ferrule.tools._odd:1 imports"),
    "siblings-room": ("tools/__init__.py", "from ferrule.tools import files\n", "ferrule.tools:1 imports"),
    "acyclic": ("policy/x.py", "from ferrule.policy import y\n", "- .y -> .x"),
}


CONTRACTS = ("floors", "core-clean", "tools-handles", "surfaces", "siblings", "acyclic")


@pytest.fixture(scope="module")
def planted_report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the contracts say about one checkout that holds every fault of `FAULTS`."""
    root = plant(tmp_path_factory.mktemp("checkout"), CLEAN)
    shutil.copytree(ROOT / "ci", root / "ci", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    assert broken_contracts(root) == "", "the clean tree must be green, else red means nothing"
    plant(root / "src" / "ferrule", {name: text for name, text, _ in FAULTS.values()})
    plant(
        root / "src" / "ferrule",
        {"policy/y.py": "from ferrule.policy import x\n", "ports/p.py": "X = 1\n"},
    )
    plant(root / "src" / "ferrule", {"core/c.py": "from ferrule.types import b\n"})
    return broken_contracts(root)


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_planted_import_breaks_its_contract(fault: str, planted_report: str) -> None:
    contract = next(name for name in CONTRACTS if fault.startswith(name))
    broken = [line for line in planted_report.splitlines() if line.startswith(f"{contract}: ") and "BROKEN" in line]
    assert broken, planted_report
    assert FAULTS[fault][2] in planted_report, planted_report
