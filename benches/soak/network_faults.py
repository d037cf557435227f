"""Real agents against a server whose network fails: 20 answers of the corpus x 19 faults x once or always x places.

A seed is a script, a fault, whether each attempt meets it, and a place in the
answer; 760 seeds hold every combination once, the next 760 at other places. A
turn may end as without the fault or in a typed failure; counted are the rules
that were broken.

    python -m benches.soak.network_faults --seeds 0:760

Prints one JSON object; exit code 1 when a rule was broken.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import Counter

from tests.providers._faults import Case, Seen, seen, wrongs


async def run(seeds: range) -> tuple[Counter[str], float]:
    """Run the cases one after the other; return what was counted and the longest wait."""
    found: Counter[str] = Counter()
    longest_s = 0.0
    for seed in seeds:
        case = Case.of(seed)
        outcome: Seen = await seen(case)
        found["turns"] += 1
        found[outcome.result.status] += 1
        longest_s = max(longest_s, outcome.took_s)
        for rule in wrongs(case, outcome):
            found[f"broken: {rule}"] += 1
            sys.stderr.write(f"seed {seed}: {rule}: {case.fault} at {case.at} of {case.script.name}: {outcome}\n")
    return found, longest_s


def main() -> int:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description="Let the network fail under real agents.")
    parser.add_argument("--seeds", default="0:760", help="which cases, as FIRST:END")
    first, _, end = parser.parse_args().seeds.partition(":")
    start = time.monotonic()
    found, longest_s = asyncio.run(run(range(int(first), int(end))))
    broken = sum(count for name, count in found.items() if name.startswith("broken"))
    totals = {**found, "rules_broken": broken, "longest_turn_s": round(longest_s, 2)}
    sys.stdout.write(json.dumps({**totals, "wall_s": round(time.monotonic() - start, 1)}) + "\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
