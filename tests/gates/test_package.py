"""What a person installs: the wheel holds every module, the type marker and the licence, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.gates._tree import ROOT, SRC


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of this checkout, built without a network."""
    folder: Path = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_holds_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    code = {path for path in SRC.rglob("*") if path.is_file() and path.suffix in (".py", ".typed", ".sql")}
    assert {f"ferrule/{path.relative_to(SRC).as_posix()}" for path in code} <= held
    assert {name.split("/")[0] for name in held} == {"ferrule"}
    assert [name for name in held if "__pycache__" in name or "_cache/" in name] == []


def test_the_wheel_is_typed_licensed_and_has_its_command(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert "ferrule/py.typed" in names
    assert sorted(name.rsplit("/", 1)[1] for name in names if "/licenses/" in name) == ["LICENSE", "NOTICE"]
    (entry_points,) = (wheel.read(name).decode() for name in names if name.endswith("entry_points.txt"))
    assert "ferrule = ferrule.__main__:main" in entry_points
