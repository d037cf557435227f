"""Files that are written whole, for the disk's sake: ``config.toml`` by its editor, others by an agent's file tool."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from ferrule.config.edit import Editor
from ferrule.config.load import load
from ferrule.config.shape import Adapters, no_settings
from ferrule.policy.agent_policy import policy_of
from ferrule.sandbox.files import WorkspaceFiles

CHANGES = 6
SIZES = (0, 40, 700, 5_000, 40_000)
NAMES = ("a.txt", "b.txt", "c.txt")
KEY = "agents.default.instructions"
Acknowledge = Callable[[str], None]


def change_config(path: Path, chance: random.Random, acknowledge: Acknowledge) -> None:
    """Change one key again and again; the file is made with the first change."""
    editor = Editor(path=path, adapters=Adapters())
    for number in range(CHANGES):
        editor.set(KEY, f'"{content(number, chance.choice(SIZES))}"')
        acknowledge(f"config {number}")


def change_once(path: Path, number: int) -> None:
    """Set the key to a content of one size."""
    Editor(path=path, adapters=Adapters()).set(KEY, f'"{content(number, 700)}"')


def faults_of_config(folder: Path, acknowledged: Sequence[str]) -> list[str]:
    """Read what is there, compare it with what was acknowledged, change it once more; returns what is wrong."""
    path = folder / "config.toml"
    newest = max((int(line.split()[1]) for line in acknowledged if line.startswith("config ")), default=-1)
    load(path, settings_for=no_settings, environ={})
    found = []
    kept = value_of(path)
    if kept < newest or kept > newest + 1:
        found.append(f"config {newest} was acknowledged, {kept} is there")
    for name in ("config.toml.bak", "config.toml.bak.1"):
        if (folder / name).exists() and value_of(folder / name) > kept:
            found.append(f"{name} is no former version")
    Editor(path=path, adapters=Adapters()).set(KEY, f'"{content(newest + 9, 40)}"')
    if value_of(path) != newest + 9:
        found.append("a change after the restart is not there")
    left = {each.name for each in folder.iterdir() if each.name.startswith(".ferrule-")}
    return found + [f"left behind: {name}" for name in sorted(left)]


def value_of(path: Path) -> int:
    """Return the number in a config; -1 when there is no file.

    Raises:
        ValueError: the file is not one that was written.
    """
    if not path.exists():
        return -1
    text = str(tomllib.loads(path.read_text())["agents"]["default"]["instructions"])
    number = text.partition(" ")[0]
    if not number.isdigit() or content(int(number), len(text.partition(" ")[2])) != text:
        raise ValueError(f"{path.name} holds what nobody wrote")
    return int(number)


def content(number: int, size: int) -> str:
    """Return text that depends on its number and its size."""
    return f"{number} {random.Random(f'{number} {size}').randbytes(size // 2).hex()}"


async def write_files(root: Path, chance: random.Random, acknowledge: Acknowledge) -> None:
    """Write three files again and again, as an agent's tool does."""
    files = WorkspaceFiles(policy_of(level="full", workspace=str(root)))
    for number in range(3 * CHANGES):
        name = chance.choice(NAMES)
        await files.write(name, content(number, chance.choice(SIZES)).encode())
        acknowledge(f"file {name} {number}")


def faults_of_files(folder: Path, acknowledged: Sequence[str]) -> list[str]:
    """Compare the files with what was acknowledged; the one being written may be there already."""
    newest = dict.fromkeys(NAMES, -1)
    for _, name, number in (line.split() for line in acknowledged):
        newest[name] = int(number)
    found = []
    for name in NAMES:
        kept = _number_of(folder / name)
        if kept not in (newest[name], len(acknowledged)):
            found.append(f"{name}: {newest[name]} was acknowledged, {kept} is there")
    return found


def _number_of(path: Path) -> int | None:
    """Return the number that a file holds, -1 when there is none, None when nobody wrote what it holds."""
    if not path.exists():
        return -1
    number, _, rest = path.read_bytes().decode("utf-8", "replace").partition(" ")
    whole = number.isdigit() and content(int(number), len(rest)) == f"{number} {rest}"
    return int(number) if whole else None
