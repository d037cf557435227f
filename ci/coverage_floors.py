"""The coverage floor of each room, branches counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from typing import Any

PACKAGE = "src/ferrule/"
WHOLE = frozenset({"core", "policy", "types"})
OTHERS = 90.0


def below(report: Mapping[str, Any]) -> list[str]:
    """List the rooms under their floor in coverage's JSON report, and what no test took, by file.

    A room's figure is (lines + branches taken) / (lines + branches). Copies of
    the package that tests made elsewhere are not counted.
    """
    total: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    gaps: dict[str, list[str]] = {}
    for name, entry in sorted(report["files"].items()):
        if not name.startswith(PACKAGE):
            continue
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
    room, slash, _ = name.removeprefix(PACKAGE).partition("/")
    return room if slash else "ferrule"


def gap(name: str, entry: Mapping[str, Any]) -> str:
    """Name the lines of one file that no test ran, and the branches of other lines that none took."""
    missing = set(entry["missing_lines"])
    arcs = [f"{a}->{b}" for a, b in entry["missing_branches"] if a not in missing]
    return f"  {name}: lines {ranges(sorted(missing)) or '-'}; branches {', '.join(arcs) or '-'}"


def ranges(numbers: list[int]) -> str:
    """Write numbers as ranges.

    >>> ranges([1, 2, 3, 7, 9, 10])
    '1-3, 7, 9-10'
    """
    text: list[str] = []
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        text.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ", ".join(text)
