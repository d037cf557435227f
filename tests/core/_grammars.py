"""What three model APIs accept as a conversation, written from their published rules alone.

Nothing here knows Ferrule's types: each checker takes the JSON of a request
and returns the first thing that the API would refuse, "" when there is none.

openai     Chat completions reference (messages, tool calls) and its error texts: "An assistant message with
           'tool_calls' must be followed by tool messages responding to each 'tool_call_id'", "messages with role
           'tool' must be a response to a preceding message with 'tool_calls'". Strict servers of the dialect
           add: system first, then a user; no empty content; the last message is not the assistant's.
anthropic  Messages reference and tool-use guide: first a user; equal neighbours count as one; every `tool_use` is
           answered in the next message, whose `tool_result` blocks come first; ids fit ``[a-zA-Z0-9_-]+`` and are
           unique; no block of text is blank.
gemini     generateContent reference and function-calling guide: user and model strictly alternate, user first and
           last; a content has parts; a turn of calls is followed by as many responses of the same names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
CLAUDE_ID = re.compile(r"[A-Za-z0-9_-]+\Z")
GEMINI_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}\Z")


class Refused(Exception):
    """What the API would answer with status 400."""


def openai(body: Json) -> str:
    """Judge the body of a chat-completions request."""
    return _verdict(_openai, body)


def anthropic(body: Json) -> str:
    """Judge the body of a messages request."""
    return _verdict(_anthropic, body)


def gemini(body: Json) -> str:
    """Judge the body of a generateContent request."""
    return _verdict(_gemini, body)


def _verdict(judge: Callable[[Json], None], body: Json) -> str:
    try:
        judge(body)
    except Refused as refused:
        return str(refused)
    return ""


def _demand(holds: object, complaint: str, place: int | None = None) -> None:
    if not holds:
        raise Refused(complaint if place is None else f"[{place}] {complaint}")


# -- chat completions ---------------------------------------------------------


def _openai(body: Json) -> None:
    messages: Sequence[Json] = body["messages"]
    first = next((i for i, m in enumerate(messages) if m["role"] not in ("system", "developer")), -1)
    _demand(first >= 0 and messages[first]["role"] == "user", "the first message after the system's is not a user's")
    _demand(messages[-1]["role"] in ("user", "tool"), "the last message is the assistant's")
    owed: set[str] = set()
    seen: set[str] = set()
    for i, message in enumerate(messages):
        role, content = message["role"], message.get("content")
        if role == "tool":
            _demand(message.get("tool_call_id") in owed, "answers no call of the message before it", i)
            owed.discard(message["tool_call_id"])
            _demand(_is_text(content), "empty content", i)
            continue
        _demand(not owed, "calls of the message before have no answer", i)
        if role == "assistant":
            owed = _openai_assistant(message, i)
            _demand(not owed & seen, "a call's id was used before", i)
            seen |= owed
            continue
        _demand(role in ("system", "developer", "user"), "an unknown role", i)
        _demand(role == "user" or i < first, "a system message behind the beginning", i)
        _demand(_is_content(content), "empty content", i)
    _demand(not owed, "the last calls have no answer")


def _openai_assistant(message: Json, i: int) -> set[str]:
    calls: Sequence[Json] = message.get("tool_calls", ())
    content = message.get("content")
    _demand(calls or "tool_calls" not in message, "an empty list of calls", i)
    _demand(_is_text(content) or (calls and content is None), "empty content", i)
    for call in calls:
        function = call["function"]
        _demand(call["type"] == "function" and _is_text(call["id"]), "a call without an id", i)
        _demand(NAME.match(function["name"]), "a name that is not allowed", i)
        _demand(isinstance(json.loads(function["arguments"]), dict), "arguments are no JSON object", i)
    ids = {call["id"] for call in calls}
    _demand(len(ids) == len(calls), "one id twice", i)
    return ids


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_content(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(block["type"] != "text" or _is_text(block["text"]) for block in value)
    return _is_text(value)


# -- messages -----------------------------------------------------------------


def _anthropic(body: Json) -> None:
    _demand(body.get("system") != "", "an empty system text")
    messages = _joined(body["messages"])
    _demand(messages and messages[0][0] == "user", "the first message is not a user's")
    _demand(messages[-1][0] == "user", "the last message is the assistant's")
    owed: set[str] = set()
    seen: set[str] = set()
    for i, (role, blocks) in enumerate(messages):
        _demand(role in ("user", "assistant"), "an unknown role", i)
        for block in blocks:
            _demand(block["type"] != "text" or block["text"].strip(), "a blank block of text", i)
        if role == "user":
            _anthropic_answers(blocks, owed, i)
            owed = set()
            continue
        uses = [block for block in blocks if block["type"] == "tool_use"]
        for use in uses:
            _demand(CLAUDE_ID.match(use["id"]), "an id that is not allowed", i)
            _demand(NAME.match(use["name"]), "a name that is not allowed", i)
            _demand(isinstance(use["input"], dict), "an input that is no object", i)
        owed = {use["id"] for use in uses}
        _demand(len(owed) == len(uses) and not owed & seen, "one id twice", i)
        seen |= owed


def _joined(messages: Sequence[Json]) -> list[tuple[str, list[Json]]]:
    out: list[tuple[str, list[Json]]] = []
    for i, message in enumerate(messages):
        _demand(message["content"], "no content", i)
        if out and out[-1][0] == message["role"]:
            out[-1][1].extend(message["content"])
        else:
            out.append((message["role"], list(message["content"])))
    return out


def _anthropic_answers(blocks: Sequence[Json], owed: set[str], i: int) -> None:
    answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    _demand(len(answered) == len(owed) and owed.issuperset(answered), "answers that do not fit the calls before", i)
    for block in blocks[: len(answered)]:
        _demand(block["type"] == "tool_result", "an answer behind other content", i)
        _demand(block["content"], "an empty answer", i)


# -- generateContent ----------------------------------------------------------


def _gemini(body: Json) -> None:
    contents: Sequence[Json] = body["contents"]
    _demand(contents and contents[0]["role"] == "user", "the first content is not a user's")
    _demand(contents[-1]["role"] == "user", "the last content is the model's")
    owed: list[str] = []
    for i, content in enumerate(contents):
        role, parts = content["role"], content["parts"]
        _demand(role == ("model" if i % 2 else "user"), "user and model do not alternate", i)
        _demand(parts, "no parts", i)
        calls: list[str] = []
        given: list[str] = []
        for part in parts:
            _demand(part.get("text") != "", "an empty part", i)
            if "functionCall" in part:
                _demand(isinstance(part["functionCall"]["args"], dict), "arguments are no object", i)
                calls.append(part["functionCall"]["name"])
            elif "functionResponse" in part:
                given.append(part["functionResponse"]["name"])
        _demand(sorted(given) == sorted(owed), "responses that do not fit the calls before", i)
        _demand(role == "model" or not calls, "a user calls", i)
        _demand(all(GEMINI_NAME.match(name) for name in calls), "a name that is not allowed", i)
        owed = calls
