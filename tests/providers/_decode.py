"""Decoding bytes without a network."""

from __future__ import annotations

import json

from ferrule.providers._chat.answer import Answer
from ferrule.providers._chat.failures import Failures
from ferrule.types.completion import ProviderEvent

FAILURES = Failures("openai.main", "m", ("sk-canary",))


def decode(*pieces: bytes) -> list[ProviderEvent]:
    answer = Answer(FAILURES, made_ids="call_1")
    events = [event for piece in pieces for event in answer.feed(piece)]
    return events + list(answer.end())


def plain(message: object, **more: object) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], **more}).encode()


def piece(arguments: object, **fields: object) -> dict[str, object]:
    name = {"name": fields.pop("name")} if "name" in fields else {}
    return {**fields, "function": {"arguments": arguments, **name}}
