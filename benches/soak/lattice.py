"""Makes random policies of parents and children, and judges random calls by both.

A child's policy is what it wants, narrowed by its parent's. It must be within
the parent's on every axis; no call may get a milder answer than the parent
gets, or than the child alone would; and a file that may be touched without
asking must lie in a folder of the agent and be covered by its grants, which
is checked by a plain reading of the rules.

    python -m benches.soak.lattice --seeds 0:1000000

Prints one JSON object; each fault is printed with its seed; exit code 1 when there is one.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter

from ferrule.policy.decide import decide
from ferrule.types.access import Allow
from tests.policy._policies import faults_of_family, random_family

from ._seeds import parsed

SHOWN = 20
"""Faults that are printed in full."""


def run(seeds: range) -> Counter[str]:
    """Judge one family per seed."""
    counts: Counter[str] = Counter(families=0, decisions=0, allowed=0, faults=0)
    for seed in seeds:
        family = random_family(seed)
        faults = faults_of_family(family)
        counts["families"] += 1
        counts["decisions"] += len(family.requests)
        counts["allowed"] += sum(isinstance(decide(request, family.child), Allow) for request in family.requests)
        counts["faults"] += len(faults)
        if faults and counts["faults"] <= SHOWN:
            sys.stderr.write(f"seed {seed}: {'; '.join(faults)}\n")
    return counts


def main() -> int:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description="Compare random children with their parents.")
    parser.add_argument("--seeds", type=parsed, default=range(20_000), metavar="A:B", help="from A up to, not with, B")
    options = parser.parse_args()
    counts = run(options.seeds)
    sys.stdout.write(json.dumps({**counts, "cpu_s": round(time.process_time(), 1)}) + "\n")
    return 1 if counts["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
