"""Conversations as text: nothing in them can command a terminal or a viewer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.cli.printable import printable
from ferrule.cli.sessions_look import when
from ferrule.cli.sessions_text import fenced, markdown, safe_json
from ferrule.ports.session import SessionFacts
from ferrule.types.messages import Message
from ferrule.types.parts import FilePart, ImagePart, TextPart
from ferrule.types.tools import ToolCall

FACTS = SessionFacts(
    id="ses_1", agent="a", person="", audience="", title="[x](y) `z`", messages=1, created_ms=1, changed_ms=2
)

hostile = st.text(st.sampled_from("`~\n\r ab\x1b\x9b\u202e<#"), max_size=30)


@pytest.mark.property
@given(hostile)
def test_text_cannot_end_its_fence(text: str) -> None:
    lines = fenced(text).split("\n")
    fence = lines[0].removesuffix("text")
    assert set(fence) == {"`"}
    assert len(fence) >= 3
    inside = lines[1:-2]
    assert lines[-2:] == [fence, ""]
    assert not any(fence in line for line in inside)
    assert "\n".join(inside).rstrip("\n") == printable(text).rstrip("\n")


@pytest.mark.property
@given(st.recursive(hostile, lambda inner: st.lists(inner, max_size=3), max_leaves=5))
def test_json_means_the_same_and_holds_no_sign_that_commands_a_terminal(value: object) -> None:
    text = safe_json(json.dumps(value, ensure_ascii=False).encode())
    assert json.loads(text) == value
    assert printable(text) == text


def test_every_kind_of_message_is_written() -> None:
    history = [
        Message(
            id="1",
            role="user",
            text="look",
            parts=(TextPart(text="part"), ImagePart(media_type="image/png", data=b"abc")),
        ),
        Message(id="2", role="user", parts=(FilePart(name="a`b.txt", media_type="text/plain", data=b"x"),)),
        Message(id="3", role="assistant", calls=(ToolCall(id="c", name="shell", arguments={"command": "ls"}),)),
        Message(id="4", role="tool", call_id="c", name="shell", text="no", is_error=True, code="command.failed"),
        Message(id="5", role="assistant", text="half", status="aborted"),
    ]
    text = markdown(FACTS, history)
    assert text.startswith("# x (y) z\n\nSession `ses_1` of the agent `a`\n")
    for words in (
        "## user\n\n```text\nlook\n```\n\n```text\npart\n```\n\nAn image, `image/png`, 3 bytes\n",
        "A file, `a b.txt`, `text/plain`, 1 bytes\n",
        'Calls `shell`\n\n```text\n{"command":"ls"}\n```\n',
        "## tool `shell`, failed (`command.failed`)\n",
        "## assistant, aborted\n",
    ):
        assert words in text


@pytest.mark.parametrize(("at_ms", "shown"), [(0, "-"), (10**18, "-"), (1_000_000_000_000, "2001-09-09 01:46")])
def test_a_time_that_nobody_noted_or_that_is_no_time_is_a_dash(at_ms: int, shown: str) -> None:
    assert when(at_ms).strip() == shown
