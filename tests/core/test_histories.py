"""Whatever a session holds, three strict model APIs take what goes out of it; and the judges see what they must."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from ferrule.core.history import NO_WORDS, valid_history
from ferrule.providers._chat.encode import encode_messages
from ferrule.types.messages import Message
from ferrule.types.parts import TextPart
from ferrule.types.tools import ToolCall

from . import _grammars
from ._histories import conversation, refusals
from ._limits import fault_between, fault_of

CI_SEEDS = 20_000
SHARES = 4


@pytest.mark.property
@pytest.mark.parametrize("share", range(SHARES))
def test_what_goes_out_is_valid_for_three_strict_vendors_and_loses_nothing(share: int) -> None:
    size = CI_SEEDS // SHARES
    faults = {seed: fault for seed in range(share * size, (share + 1) * size) if (fault := fault_of(seed))}
    assert faults == {}, f"{len(faults)} of {size}"


def test_the_same_histories_as_they_are_stored_are_refused_by_every_vendor() -> None:
    refused = dict.fromkeys(refusals([Message(id="1", role="user", text="x")]), 0)
    for seed in range(300):
        talk, _ = conversation(seed)
        for name, fault in refusals(talk._messages).items():
            refused[name] += bool(fault)
    assert min(refused.values()) > 100, refused


def test_most_histories_have_something_that_a_limit_leaves_out() -> None:
    trimmed = sum(talk.trim(0, 0.5) is not None for talk, _ in map(conversation, range(300)))
    assert trimmed > 150


TURNS = [Message(id=f"{role} {i}", role=role, text="x" * 10) for i in range(4) for role in ("user", "assistant")]


@pytest.mark.parametrize(
    ("room", "after", "fault"),
    [
        (45, TURNS[4:], ""),
        (0, TURNS[6:], ""),
        (1_000, TURNS[2:], ""),
        (45, TURNS, "no end"),
        (45, TURNS[:4], "no end"),
        (45, TURNS[5:], "torn"),
        (45, TURNS[2:], "too long"),
        (45, TURNS[6:], "there was room"),
        (45, [Message(id="s", role="system", text="!"), *TURNS[4:]], "instructions"),
    ],
)
def test_the_person_who_reads_along_sees_what_a_limit_must_not_do(room: int, after: list[Message], fault: str) -> None:
    found = fault_between(TURNS, after, TURNS[6], room=room)
    assert fault in found if fault else found == ""


def test_the_person_who_reads_along_misses_the_current_message() -> None:
    assert "current" in fault_between(TURNS, TURNS[6:], TURNS[4], room=0)


USER = Message(id="1", role="user", text="x")
CALL = ToolCall(id="a", name="functions.look up", arguments={})
ANSWER = Message(id="3", role="tool", call_id="a", name="functions.look up", text="r")


def test_an_answer_of_thoughts_or_blanks_alone_is_not_sent_back() -> None:
    for text, reasoning in (("", "hm"), (" \n", None)):
        said = Message(id="2", role="assistant", text=text, reasoning=reasoning, reasoning_field="reasoning")
        assert valid_history([USER, said, USER]) == [USER, USER]


def test_a_blank_message_of_a_person_is_sent_as_words_that_say_so() -> None:
    assert [m.text for m in valid_history([Message(id="1", role="user", text=" ")])] == [NO_WORDS]


def test_a_name_that_no_vendor_takes_is_sent_as_the_nearest_one_in_call_and_answer() -> None:
    history = [USER, Message(id="2", role="assistant", calls=(CALL, ToolCall(id="b", name="", arguments={}))), ANSWER]
    _, call, *answers = valid_history(history)
    assert [c.name for c in call.calls] == [m.name for m in answers] == ["functions_look_up", "unnamed"]
    assert history[1].calls[0].name == "functions.look up"


def test_empty_text_beside_a_result_is_not_sent() -> None:
    shown = Message(id="3", role="tool", call_id="a", name="look", text="r", parts=(TextPart(text=""),))
    assert all(b'"text":""' not in body for body in encode_messages([shown]))


# -- the judges -------------------------------------------------------------------------------------

Change = Callable[[Any], object]
TWO: list[Any] = [{"id": i, "type": "function", "function": {"name": "look", "arguments": "{}"}} for i in ("a", "b")]
OPENAI: list[Any] = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "u"},
    {"role": "assistant", "content": None, "tool_calls": TWO},
    {"role": "tool", "tool_call_id": "b", "content": "r"},
    {"role": "tool", "tool_call_id": "a", "content": "r"},
    {"role": "assistant", "content": "done"},
    {"role": "user", "content": [{"type": "text", "text": "u"}]},
]
REFUSED_BY_OPENAI: dict[str, Change] = {
    "no user first": lambda m: m.pop(1),
    "the assistant last": lambda m: m.pop(),
    "system behind the beginning": lambda m: m.insert(6, m[0]),
    "an unknown role": lambda m: m[1].update(role="person") or m.insert(1, dict(OPENAI[1])),
    "an orphan": lambda m: m.insert(6, m[4]),
    "a stranger's answer": lambda m: m[3].update(tool_call_id="c"),
    "an answer lost": lambda m: m.pop(4),
    "an answer twice": lambda m: m.insert(4, m[3]),
    "answers lost at the end": lambda m: m.__delitem__(slice(4, None)),
    "an answer late": lambda m: m.insert(6, m.pop(4)),
    "an id twice in a message": lambda m: m[2]["tool_calls"][1].update(id="a") or m.pop(3),
    "an id used again": lambda m: m.__setitem__(slice(5, 6), m[2:5]),
    "no id": lambda m: m[2]["tool_calls"][0].update(id="") or m[4].update(tool_call_id=""),
    "a bad name": lambda m: m[2]["tool_calls"][0]["function"].update(name="look up"),
    "arguments that are a list": lambda m: m[2]["tool_calls"][0]["function"].update(arguments="[]"),
    "an empty list of calls": lambda m: m[5].update(tool_calls=[]),
    "an empty answer": lambda m: m[3].update(content=""),
    "an empty question": lambda m: m[1].update(content=""),
    "an empty block": lambda m: m[6].update(content=[{"type": "text", "text": ""}]),
    "no blocks": lambda m: m[6].update(content=[]),
    "empty words beside calls": lambda m: m[2].update(content=""),
    "nothing said": lambda m: m[5].update(content=None),
}

USES: list[Any] = [{"type": "tool_use", "id": i, "name": "look", "input": {}} for i in ("a", "b")]
ANSWERS: list[Any] = [{"type": "tool_result", "tool_use_id": i, "content": "r"} for i in ("a", "b")]
WORDS = [{"type": "text", "text": "u"}]
ANTHROPIC: list[Any] = [
    {"role": "user", "content": WORDS},
    {"role": "user", "content": WORDS},
    {"role": "assistant", "content": [*WORDS, *USES]},
    {"role": "user", "content": ANSWERS},
    {"role": "user", "content": WORDS},
]
REFUSED_BY_ANTHROPIC: dict[str, Change] = {
    "no user first": lambda m: m.__delitem__(slice(0, 2)),
    "the assistant last": lambda m: m.append({"role": "assistant", "content": WORDS}),
    "an unknown role": lambda m: m.append({"role": "tool", "content": WORDS}) or m.append(ANTHROPIC[0]),
    "no content": lambda m: m[1].update(content=[]),
    "a blank block": lambda m: m[1].update(content=[{"type": "text", "text": " \n"}]),
    "an answer lost": lambda m: m[3]["content"].pop(),
    "an orphan": lambda m: m.extend([{"role": "assistant", "content": WORDS}, m[3]]),
    "a stranger's answer": lambda m: m[3]["content"][0].update(tool_use_id="c"),
    "an answer behind words": lambda m: m.insert(3, m.pop()),
    "an empty answer": lambda m: m[3]["content"][0].update(content=""),
    "an id twice in a message": lambda m: m[2]["content"][2].update(id="a") or m[3]["content"].pop(),
    "an id used again": lambda m: m.extend(m[2:4]),
    "a bad id": lambda m: m[2]["content"][1].update(id="a:1") or m[3]["content"][0].update(tool_use_id="a:1"),
    "a bad name": lambda m: m[2]["content"][1].update(name=""),
    "an input that is a list": lambda m: m[2]["content"][1].update(input=[]),
}

GEMINI: list[Any] = [
    {"role": "user", "parts": [{"text": "u"}]},
    {"role": "model", "parts": [{"text": "t"}, *[{"functionCall": {"name": n, "args": {}}} for n in ("x", "y")]]},
    {"role": "user", "parts": [{"functionResponse": {"name": n, "response": {}}} for n in ("y", "x")]},
]


def _renamed(contents: Any) -> None:
    contents[1]["parts"][1]["functionCall"]["name"] = "1 x"
    contents[2]["parts"][1]["functionResponse"]["name"] = "1 x"


REFUSED_BY_GEMINI: dict[str, Change] = {
    "nothing": lambda c: c.clear(),
    "no user first": lambda c: c.pop(0),
    "the model last": lambda c: c.pop(),
    "two users": lambda c: c.insert(0, c[0]),
    "no parts": lambda c: c[0].update(parts=[]),
    "an empty part": lambda c: c[0].update(parts=[{"text": ""}]),
    "a response lost": lambda c: c[2]["parts"].pop(),
    "another name": lambda c: c[2]["parts"][0]["functionResponse"].update(name="z"),
    "an orphan": lambda c: c[0]["parts"].append(c[2]["parts"][0]),
    "a user who calls": lambda c: c[0]["parts"].append(c[1]["parts"][1]),
    "a bad name": _renamed,
    "arguments that are a list": lambda c: c[1]["parts"][1]["functionCall"].update(args=[]),
}


JUDGES = {
    "openai": (_grammars.openai, "messages", OPENAI, REFUSED_BY_OPENAI),
    "anthropic": (_grammars.anthropic, "messages", ANTHROPIC, REFUSED_BY_ANTHROPIC),
    "gemini": (_grammars.gemini, "contents", GEMINI, REFUSED_BY_GEMINI),
}


@pytest.mark.parametrize("name", JUDGES)
def test_a_judge_takes_what_its_api_takes(name: str) -> None:
    judge, key, good, _ = JUDGES[name]
    assert judge({key: good, "system": "s"}) == ""


@pytest.mark.parametrize(
    ("name", "fault"), [(n, fault) for n, (_, _, _, changes) in JUDGES.items() for fault in changes]
)
def test_a_judge_refuses_each_fault_of_its_list(name: str, fault: str) -> None:
    judge, key, good, changes = JUDGES[name]
    body = copy.deepcopy(good)
    changes[fault](body)
    assert judge({key: body}) != ""


def test_an_empty_system_text_is_refused() -> None:
    assert _grammars.anthropic({"messages": ANTHROPIC, "system": ""}) == "an empty system text"
