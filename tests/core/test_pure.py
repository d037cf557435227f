"""The pure parts: histories and secrets."""

from __future__ import annotations

import base64
import json
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.core.guard import NoSecrets, SecretGuard, encodings
from ferrule.core.history import valid_history
from ferrule.types.messages import Message, Role, Status
from ferrule.types.tools import ToolCall


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    out: list[Message] = []
    for i in range(draw(st.integers(0, 12))):
        role: Role = draw(st.sampled_from(["user", "assistant", "tool", "system"]))
        ids = draw(st.lists(st.sampled_from("abcd"), max_size=3, unique=True)) if role == "assistant" else []
        calls = tuple(ToolCall(id=f"{i}{c}", name="t", arguments={}) for c in ids)
        wanted = [c.id for m in out for c in m.calls] or ["none"]
        status: Status = draw(st.sampled_from(["completed", "completed", "error", "aborted"]))
        out.append(
            Message(
                id=str(i),
                role=role,
                text=draw(st.sampled_from(["", "x"])),
                calls=calls,
                call_id=draw(st.sampled_from(wanted)) if role == "tool" else "",
                status=status if role == "assistant" else "completed",
            )
        )
    return out


def broken_rules(messages: list[Message]) -> list[str]:
    """Judge a list by the rules of strict vendors, written independently of the code."""
    faults: list[str] = []
    open_calls: list[str] = []
    answered: set[str] = set()
    talk = [m for m in messages if m.role != "system"]
    if talk and talk[0].role != "user":
        faults.append("does not begin with a user")
    if messages and messages[-1].role == "assistant":
        faults.append("ends with the assistant")
    for message in messages:
        if message.role == "tool":
            if message.call_id not in open_calls:
                faults.append(f"orphan {message.call_id}")
            else:
                open_calls.remove(message.call_id)
            if message.call_id in answered:
                faults.append("answered twice")
            answered.add(message.call_id)
        else:
            if open_calls:
                faults.append(f"unanswered {open_calls}")
            open_calls = [c.id for c in message.calls]
        if message.status != "completed":
            faults.append("an unfinished message")
    return faults + [f"unanswered {open_calls}" for _ in open_calls[:1]]


@pytest.mark.property
@given(histories())
def test_what_is_sent_is_valid_for_strict_vendors_and_loses_no_users_words(history: list[Message]) -> None:
    sent = valid_history(history)
    assert broken_rules(sent) == []
    told = [[m.id for m in some if m.role in ("user", "system")] for some in (sent, history)]
    assert told[0] == told[1]


def test_a_valid_history_is_sent_as_it_is() -> None:
    calls = (ToolCall(id="a", name="t", arguments={}),)
    history = [
        Message(id="1", role="user", text="x"),
        Message(id="2", role="assistant", calls=calls),
        Message(id="3", role="tool", call_id="a", name="t", text="r"),
    ]
    assert valid_history(history) == history
    assert valid_history([history[0], Message(id="9", role="assistant", text="said")]) == history[:1]


SECRETS = ("hunter2hunter2", "k/ey+with=signs", 'quote"and\\slash', "hunter2", "ünï-cödé-käy", "abcabcabc")


def forms(secret: str) -> list[str]:
    raw = secret.encode()
    return [
        secret,
        urllib.parse.quote(secret, safe=""),
        json.dumps(secret)[1:-1],
        raw.hex(),
        base64.b64encode(raw).decode()[: len(raw) * 8 // 6],
        base64.b64encode(b"x" + raw).decode()[2 : (1 + len(raw)) * 8 // 6],
    ]


@pytest.mark.property
@given(st.sampled_from(SECRETS), st.integers(0, 5), st.text("ab h/", max_size=6), st.data())
def test_no_split_of_a_stream_leaks_a_secret_in_any_form(
    secret: str, form: int, around: str, data: st.DataObject
) -> None:
    text = around + forms(secret)[form] + around
    stream, out, at = SecretGuard(SECRETS).stream(), "", 0
    while at < len(text):
        size = data.draw(st.integers(1, 7))
        out += stream.feed(text[at : at + size])
        at += size
    out += stream.flush()
    assert forms(secret)[form] not in out
    assert "[secret]" in out


@pytest.mark.property
@given(st.text("abchunter2 k/", max_size=30), st.integers(1, 5))
def test_text_without_a_secret_passes_whole(text: str, size: int) -> None:
    guard = SecretGuard(["hunter2hunter2", "k/ey+with=signs"])
    stream = guard.stream()
    out = "".join(stream.feed(text[i : i + size]) for i in range(0, len(text), size)) + stream.flush()
    assert out == guard.clean(text)
    if "hunter2hunter2" not in text:
        assert out == text


def test_ordinary_text_is_not_delayed_and_only_a_real_beginning_is_held() -> None:
    stream = SecretGuard(["hunter2hunter2"]).stream()
    assert stream.feed("a plain sentence, ") == "a plain sentence, "
    assert stream.feed("go hunt") == "go "
    assert stream.feed("ing") == "hunting"
    assert stream.feed("the end is h") == "the end is "
    assert stream.flush() == "h"


def test_short_values_are_no_secrets_and_no_secrets_hold_nothing_back() -> None:
    assert SecretGuard(["abc", ""]).clean("abc") == "abc"
    assert SecretGuard([]).stream().feed("abc") == "abc"
    assert NoSecrets().clean("x") == NoSecrets().stream().feed("x") == "x"
    assert NoSecrets().stream().flush() == ""
    assert all(len(form) >= 6 for form in encodings("secret"))
