from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule.config.layout import Layout, layout
from ferrule.types.errors import ConfigError


def test_everything_lies_below_the_home(tmp_path: Path) -> None:
    place = layout({"FERRULE_HOME": str(tmp_path / "x" / ".." / "home")})
    assert place == Layout(tmp_path / "home")
    assert place.config == tmp_path / "home/config.toml"
    assert place.sessions == tmp_path / "home/state/sessions.db"
    assert place.vault == tmp_path / "home/vault"
    assert place.log == tmp_path / "home/logs/ferrule.jsonl"
    assert place.workspace("writer") == tmp_path / "home/workspaces/writer"


def test_the_home_is_below_the_persons_own_without_a_variable() -> None:
    assert layout({"HOME": "/home/anna"}).home == Path("/home/anna/.ferrule")
    assert layout({"HOME": "/home/anna", "FERRULE_HOME": ""}).home == Path("/home/anna/.ferrule")
    assert layout({}).home.name == ".ferrule"


def test_a_relative_home_is_refused() -> None:
    with pytest.raises(ConfigError, match="FERRULE_HOME is the relative path 'here'") as raised:
        layout({"FERRULE_HOME": "here"})
    assert raised.value.hint == "write an absolute path"


def test_a_home_is_made_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Layout(tmp_path / "home").prepare()
    finally:
        os.umask(before)
    folders = [tmp_path / "home", tmp_path / "home/state", tmp_path / "home/logs"]
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700, 0o700, 0o700]


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o777, 0o710])
def test_a_home_that_others_may_enter_is_refused_with_the_fix(tmp_path: Path, mode: int) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(mode)
    for look in (Layout(home).check, Layout(home).prepare):
        with pytest.raises(ConfigError) as raised:
            look()
        assert raised.value.hint == f"chmod 700 {home}"


def test_an_absent_home_is_fine_to_look_at(tmp_path: Path) -> None:
    Layout(tmp_path / "home").check()
    assert not (tmp_path / "home").exists()


def test_a_home_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    place = Layout(tmp_path / "file" / "home")
    with pytest.raises(ConfigError, match="cannot be made: Not a directory"):
        place.prepare()
    with pytest.raises(ConfigError, match="cannot be looked at: Not a directory"):
        place.check()


def test_paths_cost_no_import_of_a_library() -> None:
    code = "import sys, ferrule.config.layout; print([m for m in ('pydantic', 'tomlkit', 'click') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def test_reading_does_not_import_the_editor() -> None:
    code = "import sys, ferrule.config.load; print([m for m in ('tomlkit', 'aiohttp', 'click') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
