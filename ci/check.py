"""`make test` and `make test-system`: every check in one command, the last line counts tests by kind.

All steps run, so that one call reports everything that is wrong; any failure
makes the exit code 1. Nothing may be skipped: a suite that needs a program
which pip does not bring says so with the marker ``needs`` and is selected by
``--system``, where a missing program is a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from ci import coverage_floors

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
FLOOR_FILE = ROOT / "ci" / "kinds.json"
NO_TESTS = 5  # pytest's exit code for an empty selection

Step = Callable[[Path], bool]


def command(*words: str, empty_is_fine: bool = False) -> Step:
    """Make a step of a program of this environment; it passes with exit code 0."""

    def step(scratch: Path) -> bool:
        line = [word.replace("{scratch}", str(scratch)) for word in words]
        environment = {**os.environ, "COVERAGE_FILE": str(scratch / "coverage")}
        code = subprocess.run([str(BIN / line[0]), *line[1:]], cwd=ROOT, env=environment, check=False).returncode
        return code == 0 or (empty_is_fine and code == NO_TESTS)

    return step


def floors(scratch: Path) -> bool:
    """Compare the coverage of each room with its floor."""
    report = scratch / "coverage.json"
    if not report.exists():
        print("no coverage was measured")
        return False
    faults = coverage_floors.below(json.loads(report.read_text()))
    print("\n".join(faults) if faults else "every room is above its coverage floor")
    return not faults


def kinds_kept(scratch: Path) -> bool:
    """Compare the tests by kind with the counts of ci/kinds.json, which only grow."""
    counts = read_counts(scratch)
    faults = fewer(counts, json.loads(FLOOR_FILE.read_text()) if FLOOR_FILE.exists() else {})
    print("\n".join(faults) if faults else "no kind has fewer tests than recorded")
    return not faults


def fewer(counts: dict[str, int], floor: dict[str, int]) -> list[str]:
    """List the kinds that lost tests."""
    return [
        f"{kind}: {counts.get(kind, 0)} tests, ci/kinds.json records {number}"
        for kind, number in sorted(floor.items())
        if counts.get(kind, 0) < number
    ]


def read_counts(scratch: Path) -> dict[str, int]:
    """Add up what the test runs counted; nothing when none came that far."""
    total: Counter[str] = Counter()
    for path in scratch.glob("kinds*.json"):
        total.update(json.loads(path.read_text()))
    return dict(total)


TEST: dict[str, Step] = {
    "lint": command("ruff", "check", "--quiet", "--output-format=concise", "."),
    "format": command("ruff", "format", "--check", "--quiet", "."),
    "types": command("mypy"),
    "contracts": command("lint-imports", "--no-cache"),
    # The embedded model spins on every core: beside other tests it is ten times slower, so it goes first, alone.
    "pytest, alone": command(
        "pytest",
        "-q",
        "-m",
        "alone",
        "--cov",
        "--cov-report=",
        "--kinds={scratch}/kinds-alone.json",
        empty_is_fine=True,
    ),
    "pytest": command(
        "pytest",
        "-q",
        "-n2",
        "--dist=worksteal",
        "-m",
        "not needs and not alone",
        "--cov",
        "--cov-append",
        "--cov-report=json:{scratch}/coverage.json",
        "--kinds={scratch}/kinds.json",
    ),
    "coverage": floors,
    "kinds": kinds_kept,
}
SYSTEM: dict[str, Step] = {
    "pytest": command("pytest", "-v", "-m", "needs", "--kinds={scratch}/kinds.json", empty_is_fine=True),
}


def run(steps: dict[str, Step]) -> int:
    """Run the steps in order; returns the exit code."""
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for name, step in steps.items():
            began = time.monotonic()
            passed = step(scratch)
            print(f"-- {name}: {'ok' if passed else 'FAILED'} ({time.monotonic() - began:.1f} s)", flush=True)
            failed += [] if passed else [name]
        counts = read_counts(scratch)
    if failed:
        print(f"failed: {', '.join(failed)}")
    listing = ", ".join(f"{kind} {number}" for kind, number in sorted(counts.items()))
    print(f"tests by kind: {listing or 'none'}", flush=True)
    return 1 if failed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m ci.check", description=__doc__)
    parser.add_argument("--system", action="store_true", help="the suites that need programs")
    parser.add_argument("--only", choices=sorted(TEST), action="append", help="run only this step")
    options = parser.parse_args(arguments)
    steps = SYSTEM if options.system else TEST
    if options.only:
        steps = {name: step for name, step in steps.items() if name in options.only}
    return run(steps)


if __name__ == "__main__":
    sys.exit(main())
