"""The large counts: every property test with many more examples, then every program of ``benches/soak``.

    python -m ci.nightly                 # everything, for hours
    python -m ci.nightly --only cancel   # one program
    python -m ci.nightly --share 0.01    # a hundredth of each count

Each program prints one JSON object and ends with 1 when it found a fault; the
seeds that it names repeat it. Everything runs at low priority, one after the
other, so that the machine stays usable; a failure does not stop the rest.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOAK = ROOT / "benches" / "soak"

COUNTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "cancel": (1_000, ()),
    "command_corpus": (2_440, ()),
    "command_fuzz": (200_000, ()),
    "crash_config": (2_000, ()),
    "crash_sessions": (2_000, ()),
    "crash_two_writers": (2_000, ()),
    "crash_vault": (1_000, ()),
    "histories": (1_000_000, ()),
    "io_faults": (0, ()),
    "lattice": (1_000_000, ()),
    "network_faults": (1_520, ()),
    "power_loss": (2_000, tuple(f"--subject {each}" for each in ("sessions", "config", "home", "files", "vault"))),
    "streams": (3_000, ("--jobs 2",)),
}
"""How many seeds each program is given (0: it has none, and runs to its end), and with which arguments it runs."""


def commands(name: str, share: float) -> Iterator[list[str]]:
    """Yield the command lines of one program."""
    count, variants = COUNTS[name]
    seeds = ["--seeds", f"0:{max(1, round(count * share))}"] if count else []
    for variant in variants or ("",):
        yield [sys.executable, "-m", f"benches.soak.{name}", *variant.split(), *seeds]


def run(command: list[str]) -> bool:
    """Run one program; tells whether it found nothing."""
    print("==", " ".join(command[2:]), flush=True)
    began = time.monotonic()
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    print(f"== exit code {code} after {time.monotonic() - began:.0f} s", flush=True)
    return code == 0


def properties() -> bool:
    """Run the property tests with the profile that tries many more examples."""
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "nightly"}
    command = [sys.executable, "-m", "pytest", "-q", "-n2", "--timeout=3600", "-m", "property or not needs"]
    print("== property tests, many more examples", flush=True)
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def main() -> int:
    """Run what was asked for; the exit code is 1 when anything found a fault."""
    parser = argparse.ArgumentParser(description="Run the large counts.")
    parser.add_argument("--only", choices=sorted(COUNTS), action="append", help="this program")
    parser.add_argument("--share", type=float, default=1.0, help="how much of each count")
    options = parser.parse_args()
    os.nice(10)
    fine = [run(command) for name in options.only or sorted(COUNTS) for command in commands(name, options.share)]
    if not options.only:
        fine.append(properties())
    print(f"{fine.count(True)} of {len(fine)} found nothing")
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
