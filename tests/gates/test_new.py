"""A new part costs one file, one test and one page, and is green from the first minute."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ci import new
from tests.gates._tree import ROOT, plant

TABLE = 'BUILT_IN: dict[str, dict[str, str]] = {\n    "providers": {},\n    "memory": {},\n    "tools": {},\n}\n'
ROOM = {"src/ferrule/app/discovery.py": TABLE}


def run(root: Path, *command: str) -> str:
    """Run a program of this environment on a checkout; "" when it passes."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    program = str(Path(sys.executable).parent / command[0])
    done = subprocess.run(
        [program, *command[1:]], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_new_parts_of_every_kind_are_linted_formatted_and_pass_their_tests(tmp_path: Path) -> None:
    rooms = shutil.ignore_patterns("__pycache__", "*_cache")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=rooms)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    plant(tmp_path, {"src/ferrule/app/__init__.py": "", **ROOM})
    written = [path for kind in new.ROOMS for path in new.create(tmp_path, kind, "acme_two")]
    code = [str(path) for path in written if path.suffix == ".py"]
    assert run(tmp_path, "ruff", "check", "-q", "--no-cache", *code) == ""
    assert run(tmp_path, "ruff", "format", "-q", "--no-cache", "--check", *code) == ""
    assert run(tmp_path, "pytest", "-q", "-p", "no:xdist", "-c", "pyproject.toml", "tests") == ""
    assert "ferrule.tools.acme_two:TOOL" in (tmp_path / "src/ferrule/app/discovery.py").read_text()


def test_a_listed_part_stands_in_order_and_the_table_stays_as_formatted() -> None:
    once = new.listed(TABLE, "memory", "b", "x.b:ADAPTER")
    twice = new.listed(f"A = 1\n{once}B = 2\n", "memory", "a", "x.a:ADAPTER")
    inner = '    "memory": {\n        "a": "x.a:ADAPTER",\n        "b": "x.b:ADAPTER",\n    },\n'
    assert twice == "A = 1\n" + TABLE.replace('    "memory": {},\n', inner) + "B = 2\n"


@pytest.mark.parametrize(("kind", "name"), [("widget", "acme"), ("tool", "Acme"), ("tool", "a__b"), ("tool", "class")])
def test_a_kind_or_name_that_cannot_work_is_refused(kind: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(new.Refused, match=r"KIND is one of|NAME is lower case"):
        new.create(plant(tmp_path, ROOM), kind, name)


def test_nothing_that_exists_is_overwritten(tmp_path: Path) -> None:
    root = plant(tmp_path, {**ROOM, "docs/tools/acme.md": "mine\n"})
    with pytest.raises(new.Refused, match=r"docs/tools/acme\.md exists"):
        new.create(root, "tool", "acme")
    assert [path.name for path in root.rglob("*acme*")] == ["acme.md"]


def test_a_table_without_the_room_is_refused() -> None:
    with pytest.raises(new.Refused, match="knows no providers"):
        new.listed("BUILT_IN: dict[str, dict[str, str]] = {}\n", "providers", "acme", "x")
    with pytest.raises(new.Refused, match="holds no table"):
        new.listed("", "providers", "acme", "x")
