"""Honesty: faults are not swallowed, tests use real parts, nothing is left half done."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.gates._tree import CODE, ROOT, SRC, at, clean, dotted, functions, plant, python_files, syntax

BROAD = frozenset({"Exception", "BaseException"})
BROAD_PER_1000 = 0.5
PATCHES_PER_1000 = 2.0
LEFT_OVER = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
DIRECTIVE = re.compile(r"#\s*(?:type:\s*ignore|noqa|pragma:|ruff:|mypy:|pyright:)[^#]*")
BANNED_FILES = frozenset({"utils", "util", "manager", "managers", "helper", "helpers", "base", "misc", "common"})
BANNED_CLASS = re.compile(r"(?:Manager|Helper|Helpers|Util|Utils|Impl)$|^_?Base[A-Z]|[a-z]Base$")


def broad_excepts(root: Path) -> list[tuple[Path, ast.ExceptHandler]]:
    """Find handlers that take everything; one that cleans up and raises again swallows nothing."""
    return [
        (path, node)
        for path in python_files(root)
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and not _raises_again(node)
    ]


def _is_broad(handler: ast.ExceptHandler) -> bool:
    caught = handler.type
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(kind is None or dotted(kind).removeprefix("builtins.") in BROAD for kind in kinds)


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def too_broad(root: Path) -> list[str]:
    """List handlers that take everything, when they are too many or give no reason in a comment."""
    handlers = broad_excepts(root)
    lines = sum(path.read_text().count("\n") for path in python_files(root))
    found = [
        at(root, path, node.lineno, "catches everything; a comment beside it must say why")
        for path, node in handlers
        if not _comment_near(path, node.lineno)
    ]
    found += [at(root, p, n.lineno, "catches everything without naming it") for p, n in handlers if n.type is None]
    if len(handlers) > max(1, BROAD_PER_1000 * lines / 1000):
        found += [at(root, p, n.lineno, f"one of {len(handlers)} in {lines} lines") for p, n in handlers]
    return found


def _comment_near(path: Path, line: int) -> bool:
    lines = ["", *path.read_text().splitlines(), ""]
    above, own, below = lines[line - 1 : line + 2]
    return "#" in own or any(text.lstrip().startswith("#") for text in (above, below))


def literal_getattr(root: Path) -> list[str]:
    """List ``getattr`` with a literal name: an attribute access that no type checker follows."""
    return [
        at(root, path, node.lineno, "getattr with a literal")
        for path in python_files(root)
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Call)
        and dotted(node.func) == "getattr"
        and len(node.args) > 1
        and isinstance(node.args[1], ast.Constant)
    ]


def patches(root: Path) -> list[str]:
    """List uses of monkeypatch and mock below a folder of tests."""
    return [
        at(root, path, node.lineno, "monkeypatch or mock")
        for path in python_files(root)
        for node in ast.walk(syntax(path))
        if (isinstance(node, ast.Name) and node.id in ("monkeypatch", "MonkeyPatch"))
        or (isinstance(node, ast.Attribute) and dotted(node) in ("pytest.MonkeyPatch", "unittest.mock"))
        or (isinstance(node, ast.ImportFrom | ast.Import) and _is_mock(node))
    ]


def _is_mock(node: ast.ImportFrom | ast.Import) -> bool:
    origin = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    return any(f"{origin}.{alias.name}".strip(".").startswith(("unittest.mock", "mock.")) for alias in node.names)


def too_patched(root: Path) -> list[str]:
    """List patches when there are more than two in 1,000 lines of tests."""
    found = patches(root)
    lines = sum(path.read_text().count("\n") for path in python_files(root))
    return found if len(found) > PATCHES_PER_1000 * lines / 1000 else []


def left_over(root: Path) -> list[str]:
    """List marks of unfinished work and functions without a body."""
    found: list[str] = []
    for path in python_files(root):
        for line, text in _comments(path):
            if LEFT_OVER.search(text):
                found.append(at(root, path, line, "unfinished work"))
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.Name) and node.id == "NotImplementedError":
                found.append(at(root, path, node.lineno, "NotImplementedError"))
        found += [at(root, path, function.lineno, f"{function.name} does nothing") for function in _hollow(path)]
    return found


def _hollow(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = syntax(path)
    promised = {
        id(function)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any(dotted(_plain(b)).endswith("Protocol") for b in node.bases)
        for function in node.body
    }
    for function in functions(tree):
        overload = any(dotted(d).endswith(("overload", "abstractmethod")) for d in function.decorator_list)
        if id(function) not in promised and not overload and _is_hollow(function):
            yield function


def _is_hollow(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A docstring alone is a body when doing nothing is what it promises: only for functions returning None."""
    returns_none = isinstance(function.returns, ast.Constant) and function.returns.value is None
    if returns_none and len(function.body) == 1 and ast.get_docstring(function):
        return False
    return all(_says_nothing(statement) for statement in function.body)


def _plain(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Subscript) else node


def _says_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass):
        return True
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _comments(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def bare_exemptions(root: Path) -> list[str]:
    """List exemptions from a check that give no reason, in the same comment or in one on the line above."""
    found: list[str] = []
    for path in python_files(root):
        comments = dict(_comments(path))
        for line, text in comments.items():
            if DIRECTIVE.match(text) and not _reason(text) and line - 1 not in comments:
                found.append(at(root, path, line, f"no reason beside {text!r}"))
    return found


def _reason(text: str) -> bool:
    rest = DIRECTIVE.sub("", text, count=1)
    dash = re.search(r"\s[-:]\s+(\S.*)", text)
    return len(rest.strip("# ")) > 4 or bool(dash and len(dash.group(1)) > 4)


def empty_names(root: Path) -> list[str]:
    """List files and classes whose name says nothing about what they do."""
    found = [at(root, p, 1, "the name says nothing") for p in python_files(root) if p.stem.strip("_") in BANNED_FILES]
    for path in python_files(root):
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.ClassDef) and BANNED_CLASS.search(node.name):
                found.append(at(root, path, node.lineno, f"{node.name} says nothing"))
    return found


Rule = Callable[[Path], list[str]]
EVERYWHERE: dict[str, Rule] = {
    "literal_getattr": literal_getattr,
    "bare_exemptions": bare_exemptions,
    "empty_names": empty_names,
}
SHIPPED: dict[str, Rule] = {"too_broad": too_broad, "left_over": left_over}
TESTS: dict[str, Rule] = {"too_patched": too_patched}


@pytest.mark.parametrize("rule", sorted(EVERYWHERE))
def test_code_is_honest_everywhere(rule: str) -> None:
    clean([fault for folder in CODE for fault in EVERYWHERE[rule](ROOT / folder)])


@pytest.mark.parametrize("rule", sorted(SHIPPED))
def test_shipped_code_swallows_nothing_and_is_finished(rule: str) -> None:
    clean(SHIPPED[rule](SRC))


def test_tests_use_real_parts() -> None:
    clean(too_patched(ROOT / "tests"))


PLANTS = {
    "literal_getattr": "x = getattr(3, 'real')\n",
    "bare_exemptions": "import os  # noqa: F401\n",
    "empty_names": "class ToolManager:\n    x = 1\n",
    "too_broad": "try:\n    x = 1\nexcept (ValueError, Exception):\n    x = 2\n",
    "left_over": "def later() -> None:\n    '''Say it.'''\n    pass\n",
    "too_patched": "def test_a(monkeypatch):\n    monkeypatch.setattr('a.b', 1)\n",
}
ALSO_RED = {
    "bare_exemptions": "x: int = ''  # type: ignore[assignment]\n",
    "empty_names": "class BaseTool:\n    x = 1\n",
    "too_broad": "try:\n    x = 1\nexcept:  # a reason does not help a bare one\n    x = 2\n",
    "left_over": "x = 1  # TODO: more\n",
    "too_patched": "from unittest import mock\n",
}
GREEN = {
    "literal_getattr": "name = 'real'\nx = getattr(3, name)\n",
    "bare_exemptions": "import os  # noqa: F401 - the re-export is the public face\n",
    "empty_names": "class Database:\n    x = 1\n",
    "too_broad": "try:\n    x = 1\nexcept BaseException:\n    x = 2\n    raise\n",
    "left_over": (
        "from typing import Protocol\n\ndef quiet() -> None:\n    'Nobody listens.'\n\n"
        "class A(Protocol):\n    def f(self) -> None: ...\n"
    ),
    "too_patched": "def test_a(tmp_path):\n    assert tmp_path.exists()\n",
}
ALL = EVERYWHERE | SHIPPED | TESTS


@pytest.mark.parametrize(("rule", "text"), [*PLANTS.items(), *ALSO_RED.items()])
def test_a_planted_dishonesty_is_seen(rule: str, text: str, tmp_path: Path) -> None:
    assert ALL[rule](plant(tmp_path, {"a.py": text})) != []


@pytest.mark.parametrize("rule", sorted(GREEN))
def test_its_honest_twin_is_not(rule: str, tmp_path: Path) -> None:
    assert ALL[rule](plant(tmp_path, {"a.py": GREEN[rule]})) == []


def test_broad_handlers_with_reasons_have_a_budget(tmp_path: Path) -> None:
    handler = "try:\n    x = 1\n# A guest's code may raise anything.\nexcept Exception:\n    x = 2\n"
    assert too_broad(plant(tmp_path, {"a.py": handler})) == []
    assert len(too_broad(plant(tmp_path, {"b.py": handler}))) == 2
