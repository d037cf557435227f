"""The project speaks of itself alone, and no shipped text shows how to leave the gate out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gates._tree import ROOT, at, clean, plant, text_files

HERE = "tests/gates/test_speech.py"
FOREIGN = {
    "a path of one machine": re.compile(r"(?<![\w.])/(?:w[o]rk|r[o]ot|h[o]me/[a-z]+/src)/"),
    "a registry host": re.compile(r"\b(?:[a-z.]*pytho[n]hosted|[a-z.]*py[p]i|registry\.npm[j]s)\.org\b"),
    "an issue's number": re.compile(r"\b(?:issue|issues|PR|pull request)\s+#?\d+", re.IGNORECASE),
    "a case's number": re.compile(r"(?<![\w-])[ABCGHIKMPQ]-\d{2}(?![\w-])"),
    "who typed it": re.compile(
        r"\b(?:Co-Authored-By|generated (?:by|with) (?:an? )?(?:AI|LLM|model))\b", re.IGNORECASE
    ),
}
OPEN_GATE = re.compile(r"\ballow_all\b")
MAY_OPEN = ("src/ferrule/testing/", "tests/")


def foreign(root: Path) -> list[str]:
    """List words about machines, trackers and authors; the changelog may name a published issue."""
    return [
        at(root, path, number, f"speaks of {what}")
        for path in text_files(root)
        if path.relative_to(root).as_posix() != HERE and path.name != "LICENSE"
        for number, line in enumerate(_lines(path), 1)
        for what, pattern in FOREIGN.items()
        if pattern.search(line)
    ]


def open_gates(root: Path) -> list[str]:
    """List mentions of the gate that allows everything, outside the testing kit and tests."""
    return [
        at(root, path, number, "mentions the gate that allows everything")
        for path in text_files(root)
        if not path.relative_to(root).as_posix().startswith(MAY_OPEN)
        for number, line in enumerate(_lines(path), 1)
        if OPEN_GATE.search(line)
    ]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except UnicodeDecodeError:
        return []


RULES: dict[str, Callable[[Path], list[str]]] = {"foreign": foreign, "open_gates": open_gates}
PLANTS = [
    ("foreign", "docs/a.md", "see /" + "work/somewhere/x\n"),
    ("foreign", "src/ferrule/a.py", "# from pypi" + ".org\n"),
    ("foreign", "CONTRIBUTING.md", "as issue #12 says\n"),
    ("foreign", "tests/test_a.py", "# P-07: a fault\n"),
    ("open_gates", "docs/a.md", "Agent(gate=allow_all())\n"),
    ("open_gates", "examples/a.py", "from ferrule.testing import allow_all\n"),
    ("open_gates", "src/ferrule/core/a.py", "x = allow_all\n"),
]


@pytest.mark.parametrize("rule", sorted(RULES))
def test_the_project_speaks_of_itself_and_keeps_its_gate(rule: str) -> None:
    clean(RULES[rule](ROOT))


@pytest.mark.parametrize(("rule", "name", "text"), PLANTS)
def test_a_planted_word_is_seen(rule: str, name: str, text: str, tmp_path: Path) -> None:
    assert len(RULES[rule](plant(tmp_path, {name: text}))) == 1


def test_tests_may_open_the_gate(tmp_path: Path) -> None:
    text = "from ferrule.testing import allow_all\n"
    assert open_gates(plant(tmp_path, {"tests/test_a.py": text, "src/ferrule/testing/gates.py": text})) == []
