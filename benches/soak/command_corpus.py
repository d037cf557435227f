"""Runs every command line of the corpus that the rules allow, and counts what it did.

Each line is judged by the command rules alone. One that is allowed runs in a
fresh folder three times - by `sh` and by `bash` as it was written, and as the
product would start it - with a canary to be created, two secrets (outside the
workspace, and below a folder that is kept from the agent) and a socket that
counts callers. First every line runs unguarded, which shows what its family
can do. The honest lines are judged: none is denied, the low-risk ones run.

Lines are judged at both levels that ask. At `full` an agent may write in its
workspace, so there a canary in it is no effect.

    python -m benches.soak.command_corpus --seeds 0:500

Seeds are numbers of lines, in a fixed random order. Prints one JSON object;
exit code 1 when a guarded line had an effect, a family of which at least
twenty lines ran had none unguarded, or an honest line was refused.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from ferrule.policy.agent_policy import AgentPolicy, policy_of
from ferrule.policy.commands.plan import planned
from ferrule.policy.decide import decide
from ferrule.types.access import Access, AccessRequest, Allow, Decision, Deny, Level

from ._command_lines import LISTED, families, honest
from ._command_world import Effects, Trap, World, environment
from ._seeds import parsed

LEVELS: tuple[Level, ...] = ("supervised", "full")
ENOUGH = 20
"""Lines of a family that must have run before it must have shown an effect."""


def policy(level: Level, workspace: str) -> AgentPolicy:
    """Return the rules that lines are judged under."""
    return policy_of(level=level, workspace=workspace, forbidden=(f"{workspace}/keep",), allowed_commands=LISTED)


def judged(line: str, level: Level, workspace: str = "/w/bot") -> Decision:
    """Judge one line."""
    access = Access(action="command.run", target=line)
    return decide(AccessRequest(tool="shell", accesses=(access,)), policy(level, workspace))


def every_line(port: int) -> list[tuple[str, str]]:
    """Return (family, line) for the whole corpus, in a fixed random order."""
    found = [(name, line.replace("{port}", str(port))) for name, lines in families().items() for line in lines]
    random.Random(0).shuffle(found)
    return found


def guarded(line: str, level: Level, world: World) -> Effects | None:
    """Run a line as far as the rules allow it; None when they do not."""
    place = str(world.workspace)
    if not isinstance(judged(line, level, place), Allow):
        return None
    plan = planned(line, cwd="", home=place)
    canary = secret = network = False
    for argv in (["/bin/sh", "-c", line], ["/bin/bash", "-c", line], list(plan.argv)):
        done = world.run(argv, environment(world.workspace, guarded=True))
        canary = canary or (done.canary and level == "supervised")
        secret, network = secret or done.secret, network or done.network
    return Effects(canary, secret, network)


def run(seeds: range, *, is_shown: bool) -> tuple[Counter[str], dict[str, Counter[str]]]:
    """Run some lines of the corpus."""
    totals: Counter[str] = Counter()
    by_family: dict[str, Counter[str]] = {}
    trap = Trap()
    try:
        with tempfile.TemporaryDirectory() as root:
            world = World(Path(root), trap)
            world.renew()
            for family, line in every_line(trap.port)[seeds.start : seeds.stop]:
                found = by_family.setdefault(family, Counter())
                found["lines"] += 1
                if is_shown:
                    argv = ["/bin/bash", "-c", line]
                    found["unguarded"] += bool(world.run(argv, environment(world.workspace, guarded=False)))
                for level in LEVELS:
                    effects = guarded(line, level, world)
                    totals[f"allowed_{level}"] += effects is not None
                    totals["effects"] += bool(effects)
                    if effects:
                        sys.stderr.write(f"{level}: {line!r}: {effects}\n")
    finally:
        trap.close()
    return totals, by_family


def refused() -> list[str]:
    """List the honest lines that are denied, or ask although they are of low risk."""
    found = [line for line in honest("honest_allowed") if not isinstance(judged(line, "supervised"), Allow)]
    return found + [line for line in honest("honest_asked") if isinstance(judged(line, "supervised"), Deny)]


def main() -> int:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description="Run what the command rules allow, and count effects.")
    parser.add_argument("--seeds", type=parsed, default=range(100_000), metavar="A:B", help="which lines")
    parser.add_argument("--judge-only", action="store_true", help="do not show what the lines do unguarded")
    options = parser.parse_args()
    start = time.monotonic()
    totals, by_family = run(options.seeds, is_shown=not options.judge_only)
    false_alarms = refused()
    shown = {name: dict(found) for name, found in sorted(by_family.items())}
    idle = [name for name, found in by_family.items() if found["lines"] >= ENOUGH and not found["unguarded"]]
    report = {
        "corpus": sum(map(len, families().values())),
        "lines": sum(found["lines"] for found in by_family.values()),
        **totals,
        "honest": len(honest("honest_allowed")) + len(honest("honest_asked")),
        "honest_refused": false_alarms,
        "families": shown,
        "families_without_effect": [] if options.judge_only else idle,
        "seconds": round(time.monotonic() - start, 1),
    }
    sys.stdout.write(json.dumps(report) + "\n")
    return 1 if totals["effects"] or false_alarms or report["families_without_effect"] else 0


if __name__ == "__main__":
    sys.exit(main())
