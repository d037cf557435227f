"""Histories for templates that know nothing of tools, and for the demo model's small window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...types.messages import Message

SYSTEM = "You are a helpful assistant. Answer in one short sentence."
"""With its template's own system prompt the demo model loops; with this one it answers plain questions."""

CHARS_PER_TOKEN = 3
"""Low, so that the estimate errs on the safe side for text that is not English."""

PROMPT_CHARS = (2_048 - 400) * CHARS_PER_TOKEN
RESULT_CHARS = 1_500
EARLIER_MESSAGES = 4


def demo_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Turn a history into what the small window holds: a short system prompt, the last turns, results as text."""
    out: list[dict[str, str]] = []
    room = PROMPT_CHARS
    for message in reversed(messages):
        text = _said(message, RESULT_CHARS)
        if message.role == "system" or not text:
            continue
        room -= len(text)
        if out and (room < 0 or len(out) > EARLIER_MESSAGES):
            break
        out.append({"role": "assistant" if message.role == "assistant" else "user", "content": text})
    return [{"role": "system", "content": SYSTEM}, *_merged(reversed(out))]


def plain_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Turn a whole history into user and assistant in turn; results are told as text."""
    system = [{"role": "system", "content": m.text} for m in messages if m.role == "system" and m.text]
    rest = [
        {"role": "assistant" if m.role == "assistant" else "user", "content": _said(m, None)}
        for m in messages
        if m.role != "system" and (m.text or m.role == "tool")
    ]
    return [*system, *_merged(rest)]


def _said(message: Message, longest: int | None) -> str:
    if message.role != "tool":
        return message.text
    text = message.text or "(no output)"
    shown = text if longest is None or len(text) <= longest else text[:longest] + " ..."
    return f"The result is:\n{shown}\n\nAnswer in one short sentence."


def _merged(messages: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """Join neighbours of one role: templates want user and assistant in turn, the user first."""
    out: list[dict[str, str]] = []
    for message in messages:
        if out and out[-1]["role"] == message["role"]:
            out[-1]["content"] += "\n\n" + message["content"]
        else:
            out.append(message)
    if out and out[0]["role"] == "assistant":
        del out[0]
    return out
