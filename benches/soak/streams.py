"""Cuts every answer of the corpus everywhere, and counts where that changed what it means.

Each script is decoded whole, byte by byte, in two pieces at every position,
and broken off at every position. A cut may change nothing; an answer that
breaks off gives all of its calls or none, and ends well or in an error of the
runtime. Seeds are numbers of scripts.

    python -m benches.soak.streams --seeds 0:500

Prints one JSON object; exit code 1 when anything differed.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections import Counter

from tests.providers._scripts import CORPUS, Script, decoded, outcome

from ._seeds import parsed


def cut_everywhere(script: Script, found: Counter[str]) -> None:
    """Try every cut of one script."""
    body = script.body
    events, error = decoded([body])
    found["scripts"] += 1
    found["wrong"] += outcome([body]) != script.right
    found["changed_by_single_bytes"] += outcome(body[i : i + 1] for i in range(len(body))) != script.right
    for cut in range(1, len(body)):
        again, other = decoded([body[:cut], body[cut:]])
        found["splits"] += 1
        found["changed_by_a_split"] += again != events or repr(other) != repr(error)
        broken = outcome([body[:cut]])
        found["breaks"] += 1
        found["partial_calls"] += broken.calls not in ((), script.right.calls)
        found["calls_of_broken_answers"] += bool(broken.calls and broken.error)


def main() -> int:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description="Cut the answers of the corpus everywhere.")
    parser.add_argument("--seeds", type=parsed, default=range(100), metavar="A:B", help="which scripts of the corpus")
    seeds = parser.parse_args().seeds
    logging.disable(logging.CRITICAL)
    found: Counter[str] = Counter()
    start = time.process_time()
    for script in CORPUS[seeds.start : seeds.stop]:
        cut_everywhere(script, found)
    totals = {"corpus": len(CORPUS), **found, "cpu_s": round(time.process_time() - start, 1)}
    sys.stdout.write(json.dumps(totals) + "\n")
    faults = ("wrong", "changed_by_single_bytes", "changed_by_a_split", "partial_calls", "calls_of_broken_answers")
    return 1 if any(found[name] for name in faults) else 0


if __name__ == "__main__":
    sys.exit(main())
