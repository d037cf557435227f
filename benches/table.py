"""One run of the comparison kit as a table in ``benches/README.md``: ratios to a careful client, round by round.

    python -m benches.table --repeat 5

The peers' environments lie outside git, in the folder that BENCH_VENVS names;
``benches/kit/run --install PEERS`` makes them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REFERENCE = "raw_aiohttp"
PEERS = (REFERENCE, "ferrule", "ferrule_bare", "agent_framework", "nanobot")
SCENARIOS = (
    "plain",
    "loop20",
    "parallel20",
    "stream256",
    "stream256i",
    "hist1000",
    "open1000",
    "tools200",
    "conc200",
    "idle200",
    "paced300",
    "live400",
    "construct",
    "import",
)
HEAVY = {"conc200", "idle200", "paced300", "stream256i", "open1000", "live400", "import"}
TOO_SLOW = {
    "agent_framework": HEAVY,
    "nanobot": HEAVY | {"parallel20", "stream256", "hist1000", "tools200", "construct"},
}
"""Scenarios that are left out for a peer, because they take it minutes a round or mean nothing there."""

BEGIN, END = "<!-- table begins -->", "<!-- table ends -->"


def measured(peers: str, scenarios: str, repeat: int) -> list[dict[str, Any]]:
    """Run the kit and return its summaries; what failed is told on standard error."""
    command = [sys.executable, str(HERE / "kit" / "run"), peers, scenarios]
    command += ["--repeat", str(repeat), "--ref", REFERENCE, "--summary-only"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    for row in rows:
        if "error" in row:
            sys.stderr.write(f"{row['peer']} {row['scenario']}: {row['error']}\n")
    return [row for row in rows if "summary" in row]


def groups(peers: list[str], scenarios: list[str]) -> list[tuple[list[str], list[str]]]:
    """Put scenarios together that have the same peers; the peers of each group take turns round by round."""
    found: dict[tuple[str, ...], list[str]] = {}
    for scenario in scenarios:
        able = tuple(peer for peer in peers if scenario not in TOO_SLOW.get(peer, ()))
        found.setdefault(able, []).append(scenario)
    return [(list(able), chosen) for able, chosen in found.items()]


def table(rows: Iterable[dict[str, Any]]) -> str:
    """Return the summaries as Markdown: ratio to the reference, and median with its range."""
    found = {(row["summary"], row["peer"]): row for row in rows}
    peers = [peer for peer in PEERS if any(key[1] == peer for key in found)]
    lines = ["| scenario | figure | " + " | ".join(peers) + " |", "|---" * (len(peers) + 2) + "|"]
    for scenario in dict.fromkeys(key[0] for key in found):
        metric = next(row["metric"] for key, row in found.items() if key[0] == scenario)
        cells = [_cell(found.get((scenario, peer))) for peer in peers]
        lines.append(f"| {scenario} | {metric} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "no figure"
    ratio = row.get(f"ratio_to_{REFERENCE}")
    figure = f"{row['median']:.3g} ({row['min']:.3g}-{row['max']:.3g})"
    return figure if ratio is None else f"{ratio:.3g}x: {figure}"


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description="One run of the comparison kit as a table.")
    parser.add_argument("--repeat", type=int, default=5, help="interleaved rounds")
    parser.add_argument("--peers", default=",".join(PEERS), help="which peers, by comma")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS), help="which scenarios, by comma")
    parser.add_argument("--install", action="store_true", help="make the peers' environments first")
    options = parser.parse_args()
    if options.install:
        others = [peer for peer in options.peers.split(",") if not peer.startswith("ferrule")]
        subprocess.run([sys.executable, str(HERE / "kit" / "run"), "--install", ",".join(others)], check=True)
    rows = [
        row
        for peers, scenarios in groups(options.peers.split(","), options.scenarios.split(","))
        for row in measured(",".join(peers), ",".join(scenarios), options.repeat)
    ]
    load = max((row.get("load1", 0.0) for row in rows), default=0.0)
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    text = f"{BEGIN}\n\n{when}, {options.repeat} interleaved rounds, highest load {load}.\n\n{table(rows)}\n\n{END}"
    path = HERE / "README.md"
    before, _, rest = path.read_text().partition(BEGIN)
    path.write_text(before + text + rest.partition(END)[2])
    sys.stdout.write(f"{table(rows)}\n")


if __name__ == "__main__":
    main()
