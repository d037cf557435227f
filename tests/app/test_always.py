"""What was allowed for always holds for the same agent under the same rules, until it is taken back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ferrule import Access, Gate
from ferrule.app.always import KeptAnswers
from ferrule.policy.agent_policy import AgentPolicy, policy_of
from ferrule.storage.approvals import KeptApprovals
from ferrule.testing.clock import FakeClock
from ferrule.types.access import AccessRequest, Allow, Ask, Deny


@pytest.fixture
def policy(tmp_path: Path) -> AgentPolicy:
    return policy_of(level="supervised", workspace=str(tmp_path))


class Kept:
    """A file of answers, and gates that use it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "approvals.json"
        self.clock = FakeClock()
        self.store = KeptApprovals(self.path, self.clock)

    def gate(self, policy: AgentPolicy, alias: str = "default") -> Gate:
        return Gate.from_policy(policy, kept=KeptAnswers(KeptApprovals(self.path, self.clock), alias, policy))


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def write(path: str) -> AccessRequest:
    return AccessRequest(tool="file_write", accesses=(Access(action="files.write", target=path),))


def allowed(gate: Gate, path: str = "a.txt") -> bool:
    decision = gate.decide(write(path))
    assert isinstance(decision, Allow | Ask)
    return isinstance(decision, Allow)


def agree(gate: Gate, path: str = "a.txt") -> None:
    asked = gate.decide(write(path))
    assert isinstance(asked, Ask)
    gate.remember(asked.pattern)


def test_an_answer_holds_in_the_next_process_and_for_nothing_else(kept: Kept, policy: AgentPolicy) -> None:
    agree(kept.gate(policy))
    assert allowed(kept.gate(policy))
    assert not allowed(kept.gate(policy), "b.txt")
    assert not allowed(kept.gate(policy, "other"))
    assert not allowed(kept.gate(replace(policy, approvers=("ann",))))
    outside = kept.gate(policy)
    outside.remember("files.write:/etc/passwd")
    assert isinstance(outside.decide(write("/etc/passwd")), Deny)


def test_an_answer_that_is_taken_back_or_over_is_asked_again_by_a_gate_that_is_in_use(
    kept: Kept, policy: AgentPolicy
) -> None:
    gate = kept.gate(policy)
    agree(gate)
    assert allowed(gate)
    kept.store.revoke()
    assert not allowed(gate)
    agree(gate)
    kept.clock.advance(31 * 86_400)
    assert not allowed(gate)


def test_a_broken_file_allows_nothing_and_stops_nothing(kept: Kept, policy: AgentPolicy) -> None:
    gate = kept.gate(policy)
    agree(gate)
    kept.path.write_text("{")
    assert not allowed(gate)
    agree(gate)  # cannot be put on disk
    assert allowed(gate)
    assert kept.path.read_text() == "{"
    assert not allowed(kept.gate(policy))
