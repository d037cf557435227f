"""The example package outside the tree: its provider, tool and memory are found, configured and used by the program."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.effects._program import Place

EXAMPLE = Path(__file__).parents[2] / "examples" / "outside_package"

CONFIG = """
[providers.echo.main]
prefix = "heard: "

[memory.notes.main]
file = "notes.txt"

[agents.default]
provider = "echo.main"
memory = "notes.main"
tools = ["roll_dice", "memory_store", "memory_recall"]
"""


def installed(tmp_path: Path) -> dict[str, str]:
    """Lay the package out as an installer would; its entry points are those of its own pyproject."""
    site = tmp_path / "site"
    shutil.copytree(EXAMPLE / "src", site)
    facts = site / "acme_ferrule-0.1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-ferrule\nVersion: 0.1.0\n")
    text = (EXAMPLE / "pyproject.toml").read_text()
    groups = re.findall(r'\[project\.entry-points\."(.+?)"\]\n(.+?) = "(.+?)"', text)
    assert len(groups) == 3
    (facts / "entry_points.txt").write_text("".join(f"[{g}]\n{name} = {target}\n" for g, name, target in groups))
    return {"PYTHONPATH": str(site)}


def place_of(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.write(CONFIG)
    return place


async def test_the_provider_of_an_outside_package_answers_with_its_own_settings(tmp_path: Path) -> None:
    ran = await place_of(tmp_path).run("run", "hello", environ=installed(tmp_path))
    assert (ran.code, ran.out) == (0, "heard: hello\n"), ran.err


async def test_the_tool_of_an_outside_package_is_called(tmp_path: Path) -> None:
    ran = await place_of(tmp_path).run("run", "call roll_dice sides=1", environ=installed(tmp_path))
    assert (ran.code, ran.out) == (0, "heard: rolled 1 of 1\n"), ran.err


async def test_the_memory_of_an_agent_is_the_store_that_its_table_names(tmp_path: Path) -> None:
    place, environ = place_of(tmp_path), installed(tmp_path)
    stored = await place.run("run", "call memory_store text=blue_lamp", environ=environ)
    assert (stored.code, stored.out) == (0, "heard: remembered\n"), stored.err
    assert (place.home / "notes.txt").read_text() == "blue_lamp\n"
    recalled = await place.run("run", "call memory_recall query=lamp", environ=environ)
    assert recalled.out == "heard: - blue_lamp\n"
    newest = await place.run("run", "call memory_recall", environ=environ)
    assert newest.out == "heard: - blue_lamp\n"


async def test_an_agent_without_memory_is_shown_no_tools_of_memory(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("")
    ran = await place.run("tools", "list")
    assert "file_read" in ran.out
    assert "memory" not in ran.out


async def test_an_outside_part_that_is_not_installed_is_named(tmp_path: Path) -> None:
    ran = await place_of(tmp_path).run("run", "hello")
    assert ran.code == 2
    assert "echo" in ran.err
    assert "notes" in ran.err
    assert "Traceback" not in ran.err


async def test_the_switch_of_memory_takes_its_tools_away(tmp_path: Path) -> None:
    place, environ = place_of(tmp_path), installed(tmp_path)
    place.write(f"{CONFIG}\n[security.tools]\nmemory = false\n")
    await place.run("run", "call memory_store text=blue_lamp", environ=environ)
    assert not (place.home / "notes.txt").exists()
    rolled = await place.run("run", "call roll_dice sides=1", environ=environ)
    assert rolled.out == "heard: rolled 1 of 1\n"
