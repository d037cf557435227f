"""Sends random conversations through the product and lets three strict model APIs judge what goes out.

A session as it may look after years of crashes: messages in every state,
results lost, repeated, late or of nobody, ids used twice, names that no tool
may have, blanks, cut anywhere. It is recovered, a message is sent, some rounds
follow, and the outgoing list is built. The judges are written from the
published rules of chat completions, messages and generateContent; besides, the
person's words, the order, and every answer that may stand must be there. Then
the request is refused as too long, up to three times: whole turns must go,
oldest first and no more than needed, the current message must stay, and the
judges must take what is left.

    python -m benches.soak.histories --seeds 0:1000000

Prints one JSON object; each fault is printed with its seed; exit code 1 when there is one.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter

from tests.core._limits import fault_of

from ._seeds import parsed

SHOWN = 20
"""Faults that are printed in full."""


def run(seeds: range) -> Counter[str]:
    """Judge one history per seed; what is counted besides is the name of the judge that refused."""
    counts: Counter[str] = Counter(histories=0, faults=0)
    for seed in seeds:
        fault = fault_of(seed)
        counts["histories"] += 1
        if fault:
            counts["faults"] += 1
            counts[fault.partition(":")[0]] += 1
            if counts["faults"] <= SHOWN:
                sys.stderr.write(f"seed {seed}: {fault}\n")
    return counts


def main() -> int:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description="Judge random conversations by the rules of three model APIs.")
    parser.add_argument("--seeds", type=parsed, default=range(10_000), metavar="A:B", help="from A up to, not with, B")
    options = parser.parse_args()
    counts = run(options.seeds)
    sys.stdout.write(json.dumps({**counts, "cpu_s": round(time.process_time(), 1)}) + "\n")
    return 1 if counts["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
