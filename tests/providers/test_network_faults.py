"""Whatever the network does to an answer: no traceback, no wait beyond the limit, no tool run from half a call."""

from __future__ import annotations

import pytest

from tests.providers._faults import FAULTS, SCRIPTS, Case, seen, wrongs


def test_twenty_scripts_meet_every_fault() -> None:
    assert len(SCRIPTS) == len({script.name for script in SCRIPTS}) == 20
    assert sum(bool(script.right.calls) for script in SCRIPTS) == 10


@pytest.mark.parametrize("number", range(len(FAULTS)), ids=list(FAULTS))
async def test_a_fault_gives_the_same_result_or_a_typed_failure(number: int) -> None:
    bad = []
    sample = [(script, 0) for script in range(number % 4, len(SCRIPTS), 4)] + [(number % 20, 1), (-number % 20, 1)]
    for script, always in sample:
        case = Case.of(script + len(SCRIPTS) * (number + always * len(FAULTS)))
        found = await seen(case)
        if broken := wrongs(case, found):
            bad.append((broken, case.script.name, case.at, case.always, found))
    assert not bad, "\n".join(map(str, bad[:4]))
