"""No line of the bypass corpus gets round the rules, and no honest line is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches.soak import command_corpus, command_fuzz
from benches.soak._command_lines import families, honest
from benches.soak._command_world import Trap, World, environment
from ferrule.types.access import Allow, Ask


def test_the_corpus_is_as_large_as_is_said() -> None:
    assert sum(map(len, families().values())) >= 1_500
    assert len(families()) == 13
    lines = honest("honest_allowed") + honest("honest_asked")
    assert len(set(lines)) == len(lines) >= 400


@pytest.mark.parametrize("family", sorted(families()))
def test_of_a_family_only_what_has_no_effect_runs_without_asking(family: str) -> None:
    allowed = [line for line in families()[family] if isinstance(command_corpus.judged(line, "supervised"), Allow)]
    assert allowed == KNOWN_IDLE.get(family, [])


KNOWN_IDLE = {
    "git": ["git -C evil status"],
    "quoting": ["echo hcuot P | rev"],
    "values": [
        "cd sub && cat ../secret.txt",
        "cd sub && cat keep/key.txt",
        "cd src && cat ../a.txt && cat ../secret.txt",
        "cd src && cat ../a.txt && cat keep/key.txt",
    ],
}
"""Lines that run without asking; that they do nothing is shown by running them, below."""


def test_lines_that_run_without_asking_were_run_and_had_no_effect(tmp_path: Path) -> None:
    trap = Trap()
    try:
        world = World(tmp_path, trap)
        world.renew()
        for line in (line for lines in KNOWN_IDLE.values() for line in lines):
            effects = command_corpus.guarded(line, "supervised", world)
            assert effects is not None
            assert not effects
        plain = environment(world.workspace, guarded=False)
        assert world.run(["bash", "-c", "git -C evil status; mv evil/P ."], plain).canary
        assert world.run(["bash", "-c", "cat keep/key.txt"], plain).secret
        assert world.run(["bash", "-c", "cat keep/key.txt > copy"], plain).secret
        assert world.run(["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{trap.port}; read -u 3 x"], plain).network
        assert not world.run(["bash", "-c", "ls; cat a.txt"], plain)
    finally:
        trap.close()


def test_a_sample_of_the_corpus_works_unguarded_and_does_nothing_guarded() -> None:
    totals, found = command_corpus.run(range(16), is_shown=True)
    assert totals["effects"] == 0
    assert sum(family["unguarded"] for family in found.values()) >= 12


def test_no_honest_line_is_denied_and_those_of_low_risk_run() -> None:
    assert command_corpus.refused() == []


@pytest.mark.parametrize("line", honest("honest_asked")[::7])
def test_honest_lines_of_higher_risk_ask(line: str) -> None:
    assert isinstance(command_corpus.judged(line, "supervised"), Ask)


def test_a_verdict_on_a_random_line_is_never_milder_than_what_starts() -> None:
    totals, faults = command_fuzz.run(range(2_000))
    assert faults == []
    assert totals["ran"] > 100
    assert command_fuzz.run(range(10), is_blind=True)[1]
