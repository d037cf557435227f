"""The approval at the terminal: shown whole, answered clearly, never by silence."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace

import pytest
from rich.console import Console

from ferrule.cli.approve import TerminalApprover
from ferrule.types.access import NOBODY, ApprovalAnswer, ApprovalRequest


def question(*, pattern: str = "", preview: str = "") -> ApprovalRequest:
    return ApprovalRequest(
        id="apr_1",
        call_id="c",
        tool="shell",
        arguments={"command": "rm x\x1b[2J"},
        reason="writes a file",
        digest="d",
        preview=preview,
        pattern=pattern,
    )


async def answer(lines: Sequence[str], request: ApprovalRequest) -> tuple[ApprovalAnswer, str]:
    waiting = iter(lines)
    prompts: list[str] = []

    async def read(prompt: str) -> str:
        prompts.append(prompt)
        line = next(waiting, None)
        if line is None:
            raise EOFError
        return line

    out = io.StringIO()
    approver = TerminalApprover(Console(file=out, width=80, no_color=True), read)
    return await approver.approve(request), out.getvalue() + "\n".join(prompts)


@pytest.mark.parametrize(
    ("typed", "word"), [("y", "allow"), ("YES ", "allow"), ("n", "deny"), ("no", "deny"), ("a", "always")]
)
async def test_a_word_is_an_answer_of_the_person(typed: str, word: str) -> None:
    given, _ = await answer([typed], question(pattern="command:rm"))
    assert (given.answer, given.by, given.source) == (word, "operator", "person")


async def test_always_is_offered_only_with_the_pattern_that_it_binds_to() -> None:
    _, shown = await answer(["y"], question(pattern="command:git status"))
    assert "[a]lways (command:git status)" in shown
    given, shown = await answer(["a", "always", "n"], question())
    assert given.answer == "deny"
    assert "lways" not in shown


async def test_anything_else_is_asked_again() -> None:
    given, shown = await answer(["", "what?", "y"], question())
    assert given.answer == "allow"
    assert shown.count("please answer") == 2


async def test_the_end_of_input_is_nobody() -> None:
    given, _ = await answer([], question())
    assert given == NOBODY


async def test_the_full_arguments_are_shown_without_control_signs() -> None:
    _, shown = await answer(["n"], question())
    assert "command: rm x␛[2J" in shown
    assert "writes a file" in shown


@pytest.mark.parametrize("preview", ["--- a\n+++ b\n-old\n+new", "rm x  (in /home)"])
async def test_a_preview_is_shown_whole(preview: str) -> None:
    _, shown = await answer(["n"], question(preview=preview))
    for line in preview.splitlines():
        assert line in shown


async def test_why_it_is_asked_and_what_always_would_bind_to_is_explained_and_asked_again() -> None:
    _, shown = await answer(["x", "explain", "n"], replace(question(pattern="command:git"), rule="command.medium"))
    assert shown.count("asked by the rule command.medium: writes a file") == 2
    assert "what matches 'command:git' runs without asking" in shown
    _, shown = await answer(["x", "n"], question())
    assert "always: not offered" in shown


async def edited(typed: Sequence[str], request: ApprovalRequest) -> tuple[ApprovalAnswer, str]:
    """Answer with `e`, then change the arguments to each of these texts in turn, then say no."""
    words, texts = iter(["e", "n"]), iter(typed)

    async def read(prompt: str) -> str:
        return next(words)

    async def edit(prompt: str, text: str) -> str:
        return next(texts)

    out = io.StringIO()
    approver = TerminalApprover(Console(file=out, width=80, no_color=True), read, edit=edit)
    approver.check_with(lambda tool, arguments: [] if "command" in arguments else [f"{tool} needs command"])
    return await approver.approve(request), out.getvalue()


async def test_changed_arguments_must_be_a_fitting_object_and_are_asked_for_until_they_are() -> None:
    given, shown = await edited(["{", "[1]", '{"a": 1}', '{"command": "ls"}'], question())
    assert (given.answer, given.arguments, given.by) == ("edit", {"command": "ls"}, "operator")
    for words in ("this is no JSON", "in braces", "shell needs command"):
        assert words in shown


async def test_arguments_that_are_left_as_they_were_are_no_edit() -> None:
    given, shown = await edited([""], question())
    assert (given.answer, "unchanged" in shown) == ("deny", True)


async def test_a_call_with_a_hidden_secret_cannot_be_changed_since_its_mask_would_take_the_secrets_place() -> None:
    given, shown = await edited([], replace(question(), arguments={"command": "curl -u me:[secret]"}))
    assert (given.answer, "a secret in it is hidden" in shown) == ("deny", True)
