"""docs/architecture.md tells the truth about the tree."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.gates._tree import ROOT, clean, plant

ROW = re.compile(
    r"^\| (?P<floor>\d) \| `(?P<room>\w+)` \| (?P<holds>[^|]+) \| (?P<state>here|not yet) \|$", re.MULTILINE
)


def untrue(root: Path) -> list[str]:
    """List what the table of rooms says wrongly: rooms, their state and their floor."""
    text = (root / "docs" / "architecture.md").read_text()
    rows = {match["room"]: match for match in ROW.finditer(text)}
    tree = {path.parent.name for path in (root / "src" / "ferrule").glob("*/__init__.py")}
    here = {room for room, match in rows.items() if match["state"] == "here"}
    floors = contract_floors(root)
    return [
        *(f"{room} stands in the tree; its row is missing or says not yet" for room in sorted(tree - here)),
        *(f"{room} is said to be here and is not" for room in sorted(here - tree)),
        *(f"{room} has another floor in pyproject.toml" for room, m in rows.items() if floors.get(room) != m["floor"]),
        *(f"{room} has a floor and no row" for room in sorted(floors.keys() - rows.keys())),
    ]


def contract_floors(root: Path) -> dict[str, str]:
    """Map each room to the number of its floor in the floors contract, 0 at the bottom."""
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "floors")
    return {room: str(number) for number, layer in enumerate(reversed(layers)) for room in re.findall(r"\w+", layer)}


def test_the_table_of_rooms_is_the_tree() -> None:
    clean(untrue(ROOT))


def test_the_page_for_whoever_changes_things_fits_a_screen_or_two() -> None:
    assert (ROOT / "AGENTS.md").read_text().count("\n") < 80


def test_a_wrong_row_is_seen(tmp_path: Path) -> None:
    contract = '[[tool.importlinter.contracts]]\nid = "floors"\nlayers = ["(app)", "core | memory", "types"]\n'
    table = (
        "| 0 | `types` | values | here |\n| 2 | `app` | all | here |\n"
        "| 2 | `core` | loop | not yet |\n| 1 | `git` | more | not yet |\n"
    )
    root = plant(
        tmp_path,
        {
            "pyproject.toml": contract,
            "docs/architecture.md": table,
            "src/ferrule/types/__init__.py": "",
            "src/ferrule/core/__init__.py": "",
        },
    )
    assert [fault.split(" ", 1)[0] for fault in untrue(root)] == ["core", "app", "core", "git", "memory"]
