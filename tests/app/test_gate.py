"""The gate that people embed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ferrule import Access, Bounds, Gate
from ferrule.config.layout import layout
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


async def test_bounds_open_folders_and_keep_others(tmp_path: Path) -> None:
    for name in ("w/kept", "shared", "drop"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "w" / "kept")
    bounds = Bounds(
        access={str(tmp_path / "shared"): "read", str(tmp_path / "drop"): "write"}, forbidden=(str(tmp_path / "link"),)
    )
    gate = Gate.of(level="full", workspace=tmp_path / "w", bounds=bounds)

    def answers(place: str) -> str:
        both = [gate.decide(request(action, str(tmp_path / place))) for action in ("files.read", "files.write")]
        return " ".join(type(decision).__name__.lower() for decision in both)

    assert answers("w/a") == "allow allow"
    assert answers("shared/a") == "allow deny"
    assert answers("drop/a") == "deny allow"
    assert answers("w/kept/a") == answers("elsewhere") == "deny deny"
    free = Gate.of(level="full", workspace=tmp_path / "w", bounds=Bounds(unrestricted=True))
    assert isinstance(free.decide(request("files.write", str(tmp_path / "elsewhere"))), Allow)
    with pytest.raises(UsageError, match="relative"):
        Gate.of(level="full", workspace=tmp_path, bounds=Bounds(forbidden=("kept",)))


def test_the_home_of_ferrule_is_kept_from_an_embedded_agent_as_well(tmp_path: Path) -> None:
    gate = Gate.of(level="full", workspace=tmp_path, bounds=Bounds(unrestricted=True))
    home = layout(os.environ).home
    for place in (home / "config.toml", home / "vault" / "key"):
        assert isinstance(gate.decide(request("files.read", str(place))), Deny)
