"""Answers without a network: every cut, and lines that no server should send."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.providers._chat.failures import Failures
from ferrule.providers.ollama.answer import Answer
from ferrule.types.completion import CallReady, Finished, ProviderEvent
from ferrule.types.errors import ProviderError
from tests.providers._ask import calls_of, reasoning_of, text_of, usage_of
from tests.providers.ollama._ask import end, line, lines

CALL = {"function": {"name": "look", "arguments": {"path": "a"}}}
WHOLE = lines(
    line(thinking="hm 北京"),
    line("<think>more</think>"),
    line("Hel"),
    line("lo 🌧"),
    line(tool_calls=[CALL]),
    end(eval_count=4),
)


def decode(*pieces: bytes) -> list[ProviderEvent]:
    answer = Answer(Failures("ollama.main", "m"), made_ids="call_1")
    events = [event for piece in pieces for event in answer.feed(piece)]
    return events + list(answer.end())


def told(events: list[ProviderEvent]) -> tuple[object, ...]:
    return text_of(events), reasoning_of(events), calls_of(events), usage_of(events), events[-1]


@pytest.mark.property
@given(st.lists(st.integers(0, len(WHOLE)), max_size=8).map(sorted))
def test_however_the_bytes_are_cut_the_answer_is_the_same(cuts: list[int]) -> None:
    edges = [0, *cuts, len(WHOLE)]
    assert told(decode(*[WHOLE[a:b] for a, b in itertools.pairwise(edges)])) == told(decode(WHOLE))


@pytest.mark.property
@given(st.integers(0, len(WHOLE) - 2))
def test_an_answer_that_ends_anywhere_before_its_end_is_broken_and_gives_no_call(at: int) -> None:
    answer = Answer(Failures("ollama.main", "m"), made_ids="call_1")
    events = list(answer.feed(WHOLE[:at]))
    with pytest.raises(ProviderError):
        events += list(answer.end())
    assert not any(isinstance(event, CallReady | Finished) for event in events)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(["role", "content", "thinking", "tool_calls", "images", "reasoning"])
MESSAGES = st.dictionaries(FIELDS, JSON, max_size=4) | JSON
CALLS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "id": JSON,
            "index": JSON,
            "function": JSON | st.fixed_dictionaries({"name": JSON, "arguments": JSON}),
        },
    ),
    max_size=3,
).map(lambda calls: {"content": "", "tool_calls": calls})
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "model": JSON,
        "message": MESSAGES | CALLS,
        "done": st.booleans() | JSON,
        "done_reason": JSON,
        "prompt_eval_count": JSON,
        "eval_count": JSON,
        "error": JSON,
    },
)


@pytest.mark.property
@given(st.lists(DOCUMENTS | JSON, max_size=5))
def test_whatever_a_server_sends_is_an_answer_or_one_of_our_errors(documents: list[object]) -> None:
    body = "".join(f"{json.dumps(document)}\n" for document in documents).encode()
    try:
        events = decode(body)
    except ProviderError:
        return
    assert isinstance(events[-1], Finished)
    assert all(call.id and (call.arguments == {} or call.fault is None) for call in calls_of(events))
