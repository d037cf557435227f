"""Sizes: 400 lines a file, 60 a function, 7 parameters. Complexity is counted by ruff."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.gates._tree import CODE, ROOT, at, clean, functions, plant, python_files, syntax

MAX_FILE = 400
MAX_FUNCTION = 60
MAX_PARAMETERS = 7


def oversized(root: Path) -> list[str]:
    """List files, functions and parameter lists above their limit; ``self`` counts."""
    found: list[str] = []
    for path in python_files(root):
        lines = path.read_text().count("\n")
        if lines > MAX_FILE:
            found.append(at(root, path, lines, f"the file has {lines} lines, {MAX_FILE} are allowed"))
        for function in functions(syntax(path)):
            length = (function.end_lineno or function.lineno) - function.lineno + 1
            if length > MAX_FUNCTION:
                found.append(at(root, path, function.lineno, f"{function.name} has {length} lines"))
            if parameters(function.args) > MAX_PARAMETERS:
                found.append(
                    at(root, path, function.lineno, f"{function.name} has {parameters(function.args)} parameters")
                )
    return found


def parameters(arguments: ast.arguments) -> int:
    """Count the parameters of a function, ``*args`` and ``**kwargs`` as one each."""
    named = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
    return named + (arguments.vararg is not None) + (arguments.kwarg is not None)


def test_files_functions_and_parameter_lists_stay_small() -> None:
    clean([fault for folder in CODE for fault in oversized(ROOT / folder)])


def test_one_line_one_parameter_too_many_is_seen(tmp_path: Path) -> None:
    long = "def f():\n" + "    x = 1\n" * MAX_FUNCTION
    wide = "class A:\n    def f(self, a, b, c, *, d, e, **f): ...\n"
    plant(tmp_path, {"long.py": "X = 1\n" * (MAX_FILE + 1), "f.py": long, "g.py": wide.replace("e,", "e, g,")})
    assert [fault.split(" ")[0] for fault in oversized(tmp_path)] == ["f.py:1", "g.py:2", "long.py:401"]


def test_the_limits_themselves_are_allowed(tmp_path: Path) -> None:
    fits = "def f(a, b, c, d, e, f, g):\n" + "    x = 1\n" * (MAX_FUNCTION - 1)
    plant(tmp_path, {"file.py": "X = 1\n" * MAX_FILE, "f.py": fits})
    assert oversized(tmp_path) == []
