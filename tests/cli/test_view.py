"""What a person sees: safe text, streamed Markdown, cards, outcomes."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ferrule.cli.markdown_stream import MarkdownStream, split_blocks
from ferrule.cli.printable import one_line, printable
from ferrule.cli.render import ChatView, describe_arguments
from ferrule.types.events import (
    AgentEvent,
    ApprovalAnswered,
    ErrorInfo,
    Head,
    Notice,
    RequestStarted,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
    UsageEvent,
)
from ferrule.types.usage import Usage

HEAD = Head(session_id="s", turn_id="t", agent="default")


def seen(*events: AgentEvent, terminal: bool = False, width: int = 80) -> str:
    out = io.StringIO()
    view = ChatView(Console(file=out, width=width, force_terminal=terminal, no_color=True))
    for event in events:
        view.show(event)
    return out.getvalue()


def text(piece: str) -> TextDelta:
    return TextDelta(head=HEAD, seq=1, at_ms=0, request_id="r", text=piece)


def started(decision: str = "allow", **arguments: object) -> ToolStarted:
    return ToolStarted(
        head=HEAD,
        seq=1,
        at_ms=0,
        call_id="c",
        name="file_read",
        arguments=arguments,
        decision=decision,  # type: ignore[arg-type]  # the tests name the three decisions
        rule="r",
    )


def finished(*, is_error: bool = False, code: str = "") -> ToolFinished:
    return ToolFinished(
        head=HEAD,
        seq=1,
        at_ms=0,
        call_id="c",
        is_error=is_error,
        code=code,
        duration_ms=12,
        bytes=1234,
        truncated=not is_error,
        origin="file",
        trusted=False,
    )


def ended(status: str, error: ErrorInfo | None = None) -> TurnFinished:
    return TurnFinished(
        head=HEAD,
        seq=1,
        at_ms=0,
        status=status,  # type: ignore[arg-type]  # the tests name real statuses
        error=error,
        rounds=1,
        usage=Usage(),
    )


@pytest.mark.property
@given(st.text(max_size=60))
def test_shown_text_holds_no_sign_that_commands_a_terminal(raw: str) -> None:
    shown = printable(raw)
    assert not [c for c in shown if (ord(c) < 0x20 and c not in "\n\t") or 0x7F <= ord(c) <= 0x9F]
    assert len(one_line(raw, 10)) <= 10


def test_line_ends_of_windows_become_plain_ones_and_a_lone_return_is_shown() -> None:
    assert printable("a\r\nb\rc") == "a\nb␍c"
    assert printable("\x7f\x9b") == "␡\ufffd"
    assert one_line("a\n b", 10) == "a b"


@pytest.mark.property
@given(st.lists(st.sampled_from(["a", "\n", "```\n", "b c", "\n\n"]), max_size=12))
def test_no_line_of_an_answer_is_lost_by_splitting_it(pieces: list[str]) -> None:
    whole = "".join(pieces)
    blocks, rest = split_blocks(whole)
    kept = "\n".join([*blocks, rest])
    assert [line for line in kept.split("\n") if line] == [line for line in whole.split("\n") if line.strip()]


def test_a_blank_line_inside_a_fence_does_not_end_the_block() -> None:
    assert split_blocks("```\na\n\nb\n```\n\nend") == (["```\na\n\nb\n```"], "end")


@pytest.mark.parametrize("terminal", [False, True])
def test_markdown_is_rendered_block_by_block_and_nothing_is_lost(terminal: bool) -> None:
    out = io.StringIO()
    stream = MarkdownStream(Console(file=out, width=40, force_terminal=terminal, no_color=True))
    for piece in ("# Ti", "tle\n\nfirst **bo", "ld** para\n", "\nsecond", " one"):
        stream.feed(piece)
    stream.close()
    stream.close()
    shown = out.getvalue()
    for words in ("Title", "bold", "second one"):
        assert words in shown


def test_a_tool_call_is_a_card_with_its_arguments_and_its_outcome() -> None:
    shown = seen(text("Looking.\n"), started(path="a.txt"), finished())
    assert "● file_read path=a.txt" in shown
    assert "✓ 12 ms, 1,234 bytes, cut" in shown
    assert shown.index("Looking") < shown.index("file_read")


def test_a_denied_call_shows_its_code() -> None:
    shown = seen(started("deny", path="/etc/passwd"), finished(is_error=True, code="policy.denied"))
    assert "✗ file_read" in shown
    assert "✗ policy.denied" in shown


def test_markup_in_names_and_arguments_is_text() -> None:
    assert "[red]x[/red]" in seen(started("ask", path="[red]x[/red]"))


def test_output_of_a_running_tool_is_shown_without_its_control_signs() -> None:
    output = ToolOutput(head=HEAD, seq=1, at_ms=0, call_id="c", stream="stdout", text="a\x1b[2Jb\n")
    assert "a␛[2Jb" in seen(output)


def test_a_second_attempt_a_notice_and_a_lapsed_question_are_told() -> None:
    again = RequestStarted(head=HEAD, seq=1, at_ms=0, request_id="r", round=1, attempt=2, provider="p", model="m")
    first = RequestStarted(head=HEAD, seq=1, at_ms=0, request_id="r", round=1, attempt=1, provider="p", model="m")
    lapsed = ApprovalAnswered(head=HEAD, seq=1, at_ms=0, approval_id="a", answer="deny", by="", source="timed_out")
    given_ = ApprovalAnswered(head=HEAD, seq=1, at_ms=0, approval_id="a", answer="allow", by="o", source="person")
    notice = Notice(head=HEAD, seq=1, at_ms=0, code="n", text="careful")
    shown = seen(first, again, lapsed, given_, notice)
    assert shown.splitlines() == ["asking again, attempt 2", "the question lapsed: denied", "careful"]


def test_a_turn_that_did_not_complete_says_why_and_what_to_do() -> None:
    error = ErrorInfo(code="limit.rounds", message="25 rounds", hint="raise max_rounds")
    assert seen(ended("limit", error)).splitlines() == ["limit: 25 rounds", "  fix: raise max_rounds"]
    assert seen(ended("cancelled")).strip() == "cancelled"
    assert seen(ended("completed")) == ""
    assert seen(ended("failed", ErrorInfo(code="x", message="broken"))).strip() == "failed: broken"


def test_tokens_are_not_shown_while_talking() -> None:
    usage = UsageEvent(
        head=HEAD, seq=1, at_ms=0, request_id="r", input=1, cached=0, output=1, reasoning=0, cost_micro_usd=None
    )
    assert seen(usage) == ""


def test_long_arguments_are_cut_to_the_line() -> None:
    assert describe_arguments({"a": "x" * 100}, limit=20) == "a=" + "x" * 17 + "…"
    assert max(map(len, seen(started(path="y" * 500), width=40).splitlines())) <= 40
