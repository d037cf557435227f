"""The event stream's flat form is fixed: fields are added, never changed."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import get_args

from ferrule.types import events
from ferrule.types.events import AgentEvent, ErrorInfo, Head, TurnFinished, as_dict
from ferrule.types.usage import Usage

GOLDEN = Path(__file__).parents[1] / "golden" / "events.json"
HEAD = Head(session_id="ses_1", turn_id="trn_1", agent="default")
SAMPLES: dict[str, object] = {
    "head": HEAD,
    "seq": 1,
    "at_ms": 1_700_000_000_000,
    "round": 1,
    "attempt": 1,
    "arguments": {"path": "a.txt"},
    "decision": "allow",
    "stream": "stdout",
    "principals": ("operator",),
    "expires_ms": 1_700_000_300_000,
    "answer": "allow",
    "source": "person",
    "is_error": False,
    "duration_ms": 5,
    "bytes": 2,
    "truncated": False,
    "origin": "tool",
    "trusted": True,
    "receipt_id": None,
    "input": 10,
    "cached": 0,
    "output": 2,
    "reasoning": 0,
    "cost_micro_usd": None,
    "kind": "trim",
    "messages_before": 9,
    "messages_after": 4,
    "document_id": None,
    "status": "completed",
    "error": ErrorInfo(code="limit.rounds", message="25 rounds", hint="raise max_rounds"),
    "rounds": 2,
    "usage": Usage(input=10, output=2),
}


def samples() -> list[AgentEvent]:
    made = []
    for kind in get_args(AgentEvent):
        known = SAMPLES | ({"output": {"city": "Rome"}} if kind is TurnFinished else {})
        made.append(kind(**{f.name: known.get(f.name, f.name) for f in fields(kind)}))
    return made


def test_the_flat_form_of_every_event_is_the_golden_one() -> None:
    flat = {str(d["type"]): d for d in map(as_dict, samples())}
    text = json.dumps(flat, indent=1, ensure_ascii=False) + "\n"
    assert text == GOLDEN.read_text(), "run `make golden` if this is meant"


def test_every_event_starts_with_the_common_fields() -> None:
    common = ["v", "seq", "at_ms", "session_id", "turn_id", "agent", "parent_turn_id", "type"]
    for event in samples():
        assert list(as_dict(event))[: len(common)] == common


def test_no_two_events_share_a_type() -> None:
    types = [event.type for event in samples()]
    assert len(set(types)) == len(types)
    assert events.VERSION == 1
