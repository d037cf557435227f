"""Answers for always: on disk, for one agent under its rules, until they are over or taken back."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from ferrule.storage.approvals import DAYS, KeptApprovals
from ferrule.testing.clock import FakeClock
from ferrule.types.errors import StoreError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "approvals.json"


def keep(kept: KeptApprovals, pattern: str, agent: str = "default", revision: str = "r1") -> None:
    kept.keep(agent=agent, pattern=pattern, revision=revision, folder="/w")


def test_a_missing_file_holds_none_and_a_kept_answer_is_private_and_seen_by_others(path: Path) -> None:
    clock = FakeClock()
    one, two = KeptApprovals(path, clock), KeptApprovals(path, clock)
    assert one.standing() == two.standing() == ()
    keep(one, "command:ls")
    assert [kept.pattern for kept in two.standing()] == ["command:ls"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    keep(two, "command:cat PATH")
    assert [kept.pattern for kept in one.standing()] == ["command:ls", "command:cat PATH"]


def test_an_answer_is_over_after_its_time_and_given_again_begins_anew(path: Path) -> None:
    clock = FakeClock()
    kept = KeptApprovals(path, clock)
    keep(kept, "a")
    keep(kept, "b")
    clock.advance((DAYS - 1) * 86_400)
    keep(kept, "a")
    assert [one.pattern for one in kept.standing()] == ["b", "a"]
    clock.advance(86_400)
    assert [one.pattern for one in kept.standing()] == ["a"]
    clock.advance(DAYS * 86_400)
    assert kept.standing() == ()


def test_answers_are_taken_back_by_agent_and_pattern(path: Path) -> None:
    kept = KeptApprovals(path, FakeClock())
    for agent in ("default", "other"):
        for pattern in ("a", "b"):
            keep(kept, pattern, agent)
    assert [one.agent for one in kept.revoke(pattern="a")] == ["default", "other"]
    assert [one.pattern for one in kept.revoke(agent="other")] == ["b"]
    assert kept.revoke(agent="other") == ()
    assert [(one.agent, one.pattern) for one in KeptApprovals(path, FakeClock()).standing()] == [("default", "b")]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"version": 2, "approvals": []}',
        '{"version": 1}',
        '{"version": 1, "approvals": [{}]}',
        '{"version": 1, "approvals": [{"agent": 1, "pattern": "", "revision": "", "folder": "",'
        '"at_ms": 1, "expires_ms": 1}]}',
    ],
)
def test_a_file_that_is_none_of_ours_is_an_error_with_its_fix_and_stays(path: Path, content: str) -> None:
    path.write_text(content)
    kept = KeptApprovals(path, FakeClock())
    for act in (kept.standing, kept.revoke, lambda: keep(kept, "a")):
        with pytest.raises(StoreError) as caught:
            act()
        assert caught.value.code == "approvals.invalid"
        assert "delete it" in str(caught.value.hint)
    assert path.read_text() == content


def test_a_file_that_cannot_be_read_is_an_error(path: Path) -> None:
    path.mkdir()
    with pytest.raises(StoreError, match="cannot be read"):
        KeptApprovals(path, FakeClock()).standing()


def test_the_file_says_what_was_allowed_for_people_to_read(path: Path) -> None:
    keep(KeptApprovals(path, FakeClock()), "command:ls")
    (entry,) = json.loads(path.read_text())["approvals"]
    assert (entry["agent"], entry["pattern"], entry["revision"], entry["folder"]) == (
        "default",
        "command:ls",
        "r1",
        "/w",
    )
    assert entry["expires_ms"] - entry["at_ms"] == DAYS * 86_400_000
