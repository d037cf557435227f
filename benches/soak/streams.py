"""Cuts every answer of the corpus everywhere, and counts where that changed what it means.

Each script is decoded whole, byte by byte, in two pieces at every position,
and broken off at every position. A cut may change nothing; an answer that
breaks off gives all of its calls or none, and ends well or in an error of the
runtime. Seeds are numbers of scripts. The cuts of one script share the
decoder's work (`_shared_decoder`); every 97th is decoded without sharing, too,
and must give the same.

    python -m benches.soak.streams --seeds 0:500 --jobs 2

Prints one JSON object; exit code 1 when anything differed.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import resource
import sys
from collections import Counter
from collections.abc import Iterable

from ferrule.types.completion import CallReady, ProviderEvent
from ferrule.types.errors import ProviderError
from tests.providers._scripts import CORPUS, Script, decoded, meaning, outcome

from ._seeds import parsed
from ._shared_decoder import answer_over, root

UNSHARED = 97
"""Every how many cuts the sharing itself is checked; a prime, so that all places of an event have their turn."""

FAULTS = (
    "wrong",
    "changed_by_single_bytes",
    "changed_by_a_split",
    "partial_calls",
    "calls_of_broken_answers",
    "changed_by_sharing",
)

Outcome = tuple[list[ProviderEvent], ProviderError | None]


def cut_everywhere(script: Script) -> Counter[str]:
    """Try every cut of one script."""
    body, found = script.body, Counter(scripts=1)
    whole = decoded([body])
    found["wrong"] += outcome([body]) != script.right
    found["changed_by_single_bytes"] += outcome(body[i : i + 1] for i in range(len(body))) != script.right
    begin = root()
    for cut in range(1, len(body)):
        split = decoded([body[:cut], body[cut:]], answer_over(begin))
        broken = decoded([body[:cut]], answer_over(begin))
        calls = meaning(broken[0]).calls if any(isinstance(event, CallReady) for event in broken[0]) else ()
        found["splits"] += 1
        found["breaks"] += 1
        found["changed_by_a_split"] += differ(split, whole)
        found["partial_calls"] += calls not in script.whole_calls
        found["calls_of_broken_answers"] += bool(calls and broken[1])
        if cut % UNSHARED == 0:
            found["unshared"] += 2
            found["changed_by_sharing"] += differ(split, decoded([body[:cut], body[cut:]]))
            found["changed_by_sharing"] += differ(broken, decoded([body[:cut]]))
    if any(found[name] for name in FAULTS):
        sys.stderr.write(f"{script.name}: {dict(found)}\n")
    return found


def differ(one: Outcome, other: Outcome) -> bool:
    """Tell whether events or errors differ."""
    return one[0] != other[0] or (one[1] is not other[1] and repr(one[1]) != repr(other[1]))


def run(seeds: range, jobs: int) -> Counter[str]:
    """Cut one script per seed, in so many processes."""
    total: Counter[str] = Counter(dict.fromkeys(FAULTS, 0))
    scripts: Iterable[Script] = CORPUS[seeds.start : seeds.stop]
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for found in pool.imap_unordered(cut_everywhere, scripts):
            total.update(found)
    return total


def main() -> int:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description="Cut the answers of the corpus everywhere.")
    parser.add_argument("--seeds", type=parsed, default=range(100), metavar="A:B", help="which scripts of the corpus")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    found = run(options.seeds, options.jobs)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    totals = {"corpus": len(CORPUS), **found, "cpu_s": round(usage.ru_utime + usage.ru_stime, 1)}
    sys.stdout.write(json.dumps(totals) + "\n")
    return 1 if any(found[name] for name in FAULTS) else 0


if __name__ == "__main__":
    sys.exit(main())
