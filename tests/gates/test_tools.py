"""Tools touch the world through their handles; the import contract cannot see a call of ``open``."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.gates._tree import SRC, at, clean, dotted, plant, python_files, syntax

BUILTINS = frozenset({"open", "exec", "eval", "__import__", "compile", "input", "breakpoint"})
MODULES = frozenset(
    {"builtins", "ctypes", "fileinput", "glob", "importlib", "mmap", "multiprocessing", "pty", "runpy", "sqlite3"}
)
PURE_OS = frozenset({"os.sep", "os.fspath", "os.PathLike", "os.linesep"})
PURE_OS_PATH = frozenset({"join", "basename", "dirname", "normpath", "split", "splitext", "commonpath", "isabs"})
ASYNCIO = ("create_subprocess", "open_connection", "open_unix_connection", "start_server", "start_unix_server")


def reaching_around(root: Path) -> list[str]:
    """List what touches files, processes or sockets below `root` without a handle; ``PurePath`` is free."""
    found: list[str] = []
    for path in python_files(root):
        for node in ast.walk(syntax(path)):
            what = _imported(node) or _called(node) or _used(node)
            if what and isinstance(node, ast.expr | ast.stmt):
                found.append(at(root, path, node.lineno, what))
    return found


def _imported(node: ast.AST) -> str:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return ""
    for name in names:
        if name.split(".")[0] in MODULES or name in ("pathlib.Path", "pathlib.PosixPath", "io.open", "io.FileIO"):
            return f"imports {name}"
        if isinstance(node, ast.ImportFrom) and _reaches_os(name):
            return f"imports {name}"
    return ""


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    name = dotted(node.func)
    return f"calls {name}" if name in BUILTINS or name in ("io.open", "io.FileIO") else ""


def _used(node: ast.AST) -> str:
    if not isinstance(node, ast.Attribute):
        return ""
    name = dotted(node)
    if name in ("pathlib.Path", "pathlib.PosixPath") or _reaches_os(name):
        return f"uses {name}"
    if name.startswith("asyncio.") and name.split(".", 1)[1].startswith(ASYNCIO):
        return f"uses {name}"
    return ""


def _reaches_os(name: str) -> bool:
    if not name.startswith("os.") or name in PURE_OS or name == "os.path":
        return False
    return not (name.startswith("os.path.") and name.split(".")[2] in PURE_OS_PATH)


def test_tools_touch_the_world_through_handles_only() -> None:
    clean(reaching_around(SRC / "tools"))


@pytest.mark.parametrize(
    "text",
    [
        "x = open('a')\n",
        "from pathlib import Path\n",
        "import pathlib\nx = pathlib.Path('a')\n",
        "import os\nx = os.open('a', 0)\n",
        "import os\nx = os.environ\n",
        "import os\nx = os.path.exists('a')\n",
        "from os import unlink\n",
        "import io\nx = io.open('a')\n",
        "import asyncio\nx = asyncio.create_subprocess_exec('true')\n",
        "import ctypes\n",
    ],
)
def test_a_planted_way_round_is_seen(text: str, tmp_path: Path) -> None:
    assert len(reaching_around(plant(tmp_path, {"shell.py": text}))) == 1


def test_arithmetic_on_paths_is_free(tmp_path: Path) -> None:
    text = "import os.path\nfrom pathlib import PurePath\nx = os.path.join('a', 'b')\ny = PurePath('a') / os.sep\n"
    assert reaching_around(plant(tmp_path, {"paths.py": text})) == []
