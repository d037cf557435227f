"""Random command lines from a grammar: the verdict is never milder than what starts.

Programs are stubs on a PATH of their own which record their name and their
arguments; those of wrappers start what they are given, as the real ones do.
Each line that the rules allow is run by `sh`, by `bash` and as the product
would start it. Every program that was seen to start, with the very arguments
it got, is then judged on its own: none may be one that the rules would not
have allowed alone. Lines that ask or are denied are not run.

    python -m benches.soak.command_fuzz --seeds 0:2000

Prints one JSON object; exit code 1 when anything milder was found.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from ferrule.policy.agent_policy import AgentPolicy, policy_of
from ferrule.policy.commands.plan import planned
from ferrule.policy.decide import decide
from ferrule.types.access import Access, AccessRequest, Allow

from ._seeds import parsed

PROGRAMS = ("ls", "cat", "grep", "head", "sort", "find", "git", "timeout", "env", "nice", "rm", "sh", "touch", "curl")
LISTED = ("ls", "cat", "grep", "head", "sort", "find", "git", "timeout", "env", "nice", "touch", "rm", "echo", "printf")
BUILTINS = ("echo", "printf", "eval", "cd", ":", "true", "command", "exec", ".", "A=1")
WORDS = (
    *("a.txt", "-l", "-r", "-n", "5", "..", "../x", "/etc/passwd", "keep/key", "sub", "--", "-", "x=y", "-exec", ";"),
    *("-o", "P", "*", "k*", "~", "$HOME", "$A", "${A:-rm}", "$(rm a)", "`rm a`", "<(rm a)", "{a,b}", "'a b'", '"a b"'),
    *("a\\ b", "a'b'", '"$(rm a)"', "'$(rm a)'", "$'rm'", "#", "a#b", "!", "status", "log", "-c", "-S", "rm", "r''m"),
    *("-i", "-name", "-delete", "LC_ALL=C", "PATH=.", "\\\n", "é", "-lrm", "status;rm", "-P", "cat", "r\\m", '""'),
)
JOINS = ("; ", " && ", " || ", " | ", " & ", "\n", ";", "&&", "|", " |& ", " \\\n", "\r\n")
REDIRECTIONS = ("2>&1", ">/dev/null", "2>/dev/null", "> P", ">> P", "< a.txt", "</dev/null", "<<< a", "&> P", ">&2")
FRAMES = (
    *("({})", "{{ {}; }}", "if {}; then {}; fi", "! {}", "f() {{ {}; }}; f", "for i in a; do {}; done", "echo $({})"),
    *('echo "$({})"', "cat <<E\n{}\nE", "cat <<E; {}\na\nE", "time {}", "coproc {}", "case a in a) {};; esac"),
    *("echo '{}'", 'echo "{}"', "eval '{}'", "env -S '{}'", "timeout 5 {}", "LC_ALL=C {}", "A=rm {}", "{} # {}"),
)

_STUB = """#!/bin/sh
printf '%s\\0' "$NAME" "$@" '
' >> "$SEEN" # in one piece, for programs of a pipe write at once
case "$NAME" in
timeout|nice|env)
  while true; do
    case "$NAME$1" in
    timeout-s|timeout-k|nice-n|env-u) shift 2 || exit 1 ;;
    *--) shift; break ;;
    timeout-*|nice-*|env-*|env*=*) shift ;;
    *) break ;;
    esac
  done
  [ "$NAME" = timeout ] && [ $# -gt 0 ] && shift
  [ $# -gt 0 ] && exec "$@" ;;
esac
exit 0
"""


def simple(chance: random.Random) -> str:
    """Write one program with its words."""
    words = [chance.choice((*PROGRAMS, *BUILTINS))]
    words += [chance.choice(WORDS) for _ in range(chance.choice((0, 1, 1, 2, 2, 3)))]
    words += [chance.choice(REDIRECTIONS)] if chance.random() < 0.2 else []
    return " ".join(words)


def line_of(seed: int) -> str:
    """Write the line of a seed."""
    chance = random.Random(seed)
    line = simple(chance)
    while chance.random() < 0.45:
        line += chance.choice(JOINS) + simple(chance)
    while chance.random() < 0.2:
        line = chance.choice(FRAMES).replace("{{", "\0").replace("}}", "\1").replace("{}", line, 1)
        line = line.replace("{}", simple(chance)).replace("\0", "{").replace("\1", "}")
    return line


class World:
    """A folder with stubs, and what they recorded."""

    def __init__(self, root: Path) -> None:
        self._stubs, self._seen, self.workspace = root / "stubs", root / "seen", root / "bot"
        for folder in (self._stubs, self.workspace / "keep", self.workspace / "sub"):
            folder.mkdir(parents=True)
        (self.workspace / "a.txt").write_text("rm a\n")
        self.canary = self.workspace / "P"
        for name in PROGRAMS:
            stub = self._stubs / name
            stub.write_text(_STUB.replace("#!/bin/sh\n", f"#!/bin/sh\nNAME={name}\n", 1))
            stub.chmod(0o755)

    def started(self, argv: list[str]) -> list[list[str]]:
        """Run a command; returns each program that started, with its arguments."""
        self._seen.write_bytes(b"")
        self.canary.unlink(missing_ok=True)
        environment = {"PATH": str(self._stubs), "HOME": str(self.workspace), "SEEN": str(self._seen)}
        try:
            subprocess.run(
                argv,
                cwd=self.workspace,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=10,
                check=False,
            )
        except FileNotFoundError:  # the program is none of the stubs
            return []
        programs = self._seen.read_bytes().decode(errors="surrogateescape").split("\n\0")
        return [program.removesuffix("\0").split("\0") for program in programs if program]


def allows(line: str, policy: AgentPolicy) -> bool:
    """Tell whether the rules let a line run without asking."""
    request = AccessRequest(tool="shell", accesses=(Access(action="command.run", target=line),))
    return isinstance(decide(request, policy), Allow)


def milder(line: str, world: World, policy: AgentPolicy) -> list[str]:
    """List what started for an allowed line that would not have been allowed by itself."""
    plan = planned(line, cwd="", home=str(world.workspace))
    direct = [str(world.workspace.parent / "stubs" / plan.argv[0]), *plan.argv[1:]]
    found: list[str] = []
    for argv in (["/bin/sh", "-c", line], ["/bin/bash", "-c", line], list(plan.argv) if plan.has_shell else direct):
        for program in world.started(argv):
            alone = shlex.join(program)
            if not allows(alone, policy):
                found.append(f"{argv[0]}: {alone}")
        if world.canary.exists() and policy.level == "supervised":
            found.append(f"{argv[0]}: wrote P")
    return found


def run(seeds: range, *, is_blind: bool = False) -> tuple[Counter[str], list[str]]:
    """Judge and run the lines of some seeds; `is_blind` takes the rules away, to show what the lines can do."""
    totals: Counter[str] = Counter()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as root:
        world = World(Path(root))
        place = str(world.workspace)
        policy = policy_of(level="supervised", workspace=place, forbidden=(f"{place}/keep",), allowed_commands=LISTED)
        for seed in seeds:
            line = line_of(seed)
            totals["lines"] += 1
            if not is_blind and not allows(line, policy):
                continue
            totals["ran"] += 1
            found = milder(line, world, policy)
            totals["milder"] += bool(found)
            faults += [f"seed {seed}: {line!r}: {fault}" for fault in found]
    return totals, faults


def main() -> int:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description="Compare the verdict on random lines with what they start.")
    parser.add_argument("--seeds", type=parsed, default=range(2_000), metavar="A:B", help="which lines")
    parser.add_argument("--blind", action="store_true", help="run every line, to see that the comparison can fail")
    options = parser.parse_args()
    start = time.monotonic()
    totals, faults = run(options.seeds, is_blind=options.blind)
    sys.stdout.write(json.dumps({**totals, "seconds": round(time.monotonic() - start, 1)}) + "\n")
    sys.stderr.write("".join(f"{fault}\n" for fault in faults[:20]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
