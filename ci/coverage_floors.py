"""The coverage floor of each room, branches counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

WHOLE = frozenset({"core", "policy", "types"})
OTHERS = 90.0


def below(report: Mapping[str, Any]) -> list[str]:
    """List the rooms under their floor in coverage's JSON report, worst lines named by file.

    A room's figure is (lines + branches taken) / (lines + branches).
    """
    total: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    gaps: dict[str, list[str]] = {}
    for name, entry in sorted(report["files"].items()):
        room = room_of(name)
        summary = entry["summary"]
        total[room] += summary["num_statements"] + summary["num_branches"]
        taken[room] += summary["covered_lines"] + summary["covered_branches"]
        if entry["missing_lines"] or entry["missing_branches"]:
            gaps.setdefault(room, []).append(gap(name, entry))
    faults: list[str] = []
    for room in sorted(total):
        percent = 100.0 * taken[room] / total[room] if total[room] else 100.0
        floor = 100.0 if room in WHOLE else OTHERS
        if percent < floor:
            faults.append(f"{room}: {percent:.1f} % covered, its floor is {floor:.0f} %")
            faults += gaps.get(room, [])
    return faults


def room_of(name: str) -> str:
    """Name the room of a file; files directly under the package are the room ``ferrule``."""
    parts = PurePosixPath(name).parts
    below_package = parts[len(parts) - 1 - parts[::-1].index("ferrule") + 1 :] if "ferrule" in parts else parts
    return below_package[0] if len(below_package) > 1 else "ferrule"


def gap(name: str, entry: Mapping[str, Any]) -> str:
    """Name the lines and branches of one file that no test took."""
    lines = ",".join(map(str, entry["missing_lines"]))
    branches = ",".join(f"{a}->{b}" for a, b in entry["missing_branches"])
    return f"  {name}: lines {lines or '-'}, branches {branches or '-'}"
