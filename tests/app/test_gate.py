"""The gate that people embed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule import Access, Gate
from ferrule.types.access import AccessRequest, Allow, Ask, Deny
from ferrule.types.errors import UsageError


def request(action: str, target: str) -> AccessRequest:
    return AccessRequest(tool="t", accesses=(Access(action=action, target=target),))  # type: ignore[arg-type]  # tests name real actions


def test_a_gate_is_made_of_a_level_and_a_folder(tmp_path: Path) -> None:
    gate = Gate.of(level="supervised", workspace=tmp_path, allowed_commands=["ls"])
    assert gate.label == "supervised, unconfined"
    assert gate.policy.workspace == str(tmp_path.resolve())
    assert gate.revision == gate.policy.revision
    assert isinstance(gate.decide(request("command.run", "ls")), Allow)
    assert gate.handles.files is not None
    assert gate.handles.commands is not None
    assert Gate.of(level="read_only", workspace=tmp_path).handles.commands is None


def test_always_answers_the_same_question_and_loosens_no_denial(tmp_path: Path) -> None:
    gate = Gate.of(level="supervised", workspace=tmp_path)
    asked = gate.decide(request("files.write", "a.txt"))
    assert isinstance(asked, Ask)
    gate.remember(asked.pattern)
    gate.remember("command:cat PATH")
    assert gate.decide(request("files.write", "a.txt")) == Allow(rule="always")
    assert isinstance(gate.decide(request("files.write", "b.txt")), Ask)
    assert isinstance(gate.decide(request("command.run", "cat a")), Allow)
    assert isinstance(gate.decide(request("command.run", "cat /etc/passwd")), Deny)


@pytest.mark.parametrize(("level", "folder", "words"), [("wild", "", "level"), ("full", "none", "no folder")])
def test_mistakes_name_their_fix(tmp_path: Path, level: str, folder: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        Gate.of(level=level, workspace=tmp_path / folder)  # type: ignore[arg-type]  # the mistake under test
    assert caught.value.hint
