"""What the chat says about tokens and rules, and what it completes and remembers."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ferrule.cli.chat.completion import MOST, files, offered
from ferrule.cli.chat.history import LARGEST, open_history, shorten
from ferrule.cli.chat.policy_text import policy_lines
from ferrule.cli.chat.slash import COMMANDS
from ferrule.cli.chat.tokens import TokenMeter, cost_lines, status_line
from ferrule.policy.agent_policy import Root, policy_of
from ferrule.types.access import Level
from ferrule.types.events import Head, RequestStarted, UsageEvent
from ferrule.types.limits import Limits

HEAD = Head(session_id="s", turn_id="t", agent="default")


def request(number: int, model: str) -> RequestStarted:
    return RequestStarted(
        head=HEAD, seq=1, at_ms=0, request_id=f"r{number}", round=1, attempt=1, provider="p", model=model
    )


def used(number: int, given: int | None, got: int | None) -> UsageEvent:
    return UsageEvent(
        head=HEAD,
        seq=1,
        at_ms=0,
        request_id=f"r{number}",
        input=given,
        cached=0,
        output=got,
        reasoning=0,
        cost_micro_usd=None,
    )


@pytest.mark.property
@given(st.lists(st.tuples(st.sampled_from(["a", "b", ""]), st.integers(0, 10**6), st.integers(0, 10**6))))
def test_tokens_add_up_by_model_and_in_all(answers: list[tuple[str, int, int]]) -> None:
    meter = TokenMeter()
    for number, (model, given_, got) in enumerate(answers):
        meter.note(request(number, model))
        meter.note(used(number, given_, got))
    assert meter.total == sum(given_ + got for _, given_, got in answers)
    assert sum(spent.answers for spent in meter.spent.values()) == len(answers)
    assert set(meter.spent) == {model or "p" for model, _, _ in answers}
    assert meter.context == (answers[-1][1] + answers[-1][2] if answers else None)


def test_tokens_that_a_vendor_did_not_tell_are_named_and_no_price_is_invented() -> None:
    meter = TokenMeter()
    assert cost_lines(meter) == ["no tokens have been used in this chat"]
    assert status_line("default: m, full", meter) == "default: m, full"
    meter.note(request(1, "m"))
    meter.note(used(1, 1200, 34))
    assert status_line("default: m", meter) == "default: m, 1,234 tokens of context, 1,234 tokens in all"
    meter.note(request(2, "m"))
    meter.note(used(2, None, None))
    told = "\n".join(cost_lines(meter))
    assert "m: 2 answers" in told
    assert "not counted, since the vendor did not say: 1" in told
    assert "prices are not known" in told
    assert "$" not in told
    assert status_line("default: m", meter) == "default: m, 1,234 tokens in all"


@pytest.mark.parametrize("level", ["read_only", "supervised", "full"])
def test_the_rules_are_told_whole(level: Level) -> None:
    policy = policy_of(
        level=level,
        workspace="/place/own",
        roots=[Root("/place/other", "read")],
        forbidden=["/place/state"],
        allowed_commands=["git", "cat"],
    )
    told = "\n".join(policy_lines(policy, Limits(tokens=None), label=f"{level}, unconfined", always=["command:rg"]))
    for words in (
        f"level: {level}, unconfined",
        "works in: /place/own",
        "read and write: /place/own",
        "read: /place/other",
        "/place/state",
        "allowed commands: cat, git",
        "for always: command:rg",
        "questions: operator",
        "model requests: 25",
        "tokens: unlimited",
        "seconds: 600",
    ):
        assert words in told
    open_ = policy_of(level=level, workspace="/w", unrestricted=True, approvers=())
    told = "\n".join(policy_lines(open_, Limits(wall_time_s=None), label=level, always=[]))
    for words in ("the whole file system", "commands: none", "for always: nothing", "nobody", "seconds: unlimited"):
        assert words in told


async def sessions() -> list[str]:
    return ["ses_1a", "ses_1b", "ses_2"]


@pytest.mark.parametrize(
    ("typed", "begun", "found"),
    [
        ("/re", "/re", ["/resume", "/redo", "/read"]),
        ("/resume ses_1", "ses_1", ["ses_1a", "ses_1b"]),
        ("/cost ", "", []),
        ("/read d", "d", ["docs/"]),
        ("/read docs/", "docs/", ["docs/a b.md", "docs/b.md"]),
        ("look at ./no", "./no", ["./notes.txt"]),
        ("look at no", "no", []),
        ("look at ", "", []),
        ("", "", []),
        ("/read .", ".", [".hidden"]),
    ],
)
async def test_what_could_be_typed_is_offered(tmp_path: Path, typed: str, begun: str, found: list[str]) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("docs/a b.md", "docs/b.md", "notes.txt", ".hidden", "bad\x1bname"):
        (tmp_path / name).write_text("x")
    there, words = await offered(typed, {"resume": sessions}, str(tmp_path))
    assert (there, list(words)) == (begun, found)


async def test_every_command_is_offered() -> None:
    assert await offered("/", {}, "/") == ("/", [f"/{name}" for name in COMMANDS])


def test_a_folder_that_is_full_or_not_there_offers_what_it_can(tmp_path: Path) -> None:
    for number in range(MOST + 5):
        (tmp_path / f"f{number}").write_text("")
    assert len(files(str(tmp_path), "f")) == MOST
    assert files(str(tmp_path), "none/x") == files(str(tmp_path), "\0/x") == []


def test_the_history_is_private_and_forgets_its_older_half_at_whole_entries(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("".join(f"\n# 2026-01-01\n+line {number}\n" for number in range(50_000)))
    path.chmod(0o644)
    assert path.stat().st_size > LARGEST
    history = open_history(Console(file=io.StringIO()), path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    lines = list(history.load_history_strings())
    assert path.stat().st_size <= LARGEST // 2
    assert lines[0] == "line 49999"
    assert [line for line in lines if not line.startswith("line ")] == []
    history.append_string("x" * 20_000)
    assert "x" * 20_000 not in open_history(Console(file=io.StringIO()), path).load_history_strings()


def test_a_history_that_is_one_endless_line_is_forgotten_whole(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(b"+" * (LARGEST + 1))
    shorten(path)
    assert path.read_bytes() == b""
