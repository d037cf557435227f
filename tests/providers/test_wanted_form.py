"""An answer in a wanted form, over real sockets: what each dialect is asked, and what the embedding program gets."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.core.agent import Agent
from ferrule.core.tool_decorator import tool
from ferrule.ports.provider import Provider
from ferrule.providers._chat.strict import permits_strict
from ferrule.testing.gates import allow_all
from ferrule.testing.mock_llm import MockLLM, call, say
from tests.providers import _ask as openai
from tests.providers.ollama import _ask as ollama

Open = Callable[[MockLLM], AbstractAsyncContextManager[Provider]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    city: str
    degrees: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loose:
    city: str = "Rome"


@tool
def look(path: str) -> str:
    """Look at a path."""
    return f"nothing at {path}"


SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
GOOD = '{"city": "Rome", "degrees": 21}'
OPEN: dict[str, Open] = {
    "openai": lambda server: openai.provider_at(server.base_url),
    "ollama": lambda server: ollama.provider_at(server.ollama_url),
}


@pytest.mark.parametrize("open_provider", OPEN.values(), ids=OPEN)
async def test_a_form_is_given_after_calls_and_a_repair(open_provider: Open) -> None:
    script = [call("look", {"path": "a"}), say("It is 21 degrees in Rome."), say(GOOD)]
    async with MockLLM(script) as server, open_provider(server) as provider:
        result = await Agent(provider, tools=[look], gate=allow_all()).send("?", output=Weather)
    assert (result.status, result.output, result.rounds) == ("completed", Weather(city="Rome", degrees=21), 3)
    assert server.unconsumed == 0


@pytest.mark.parametrize("open_provider", OPEN.values(), ids=OPEN)
async def test_a_form_that_never_comes_is_a_coded_failure(open_provider: Open) -> None:
    async with MockLLM([say("no"), say('{"city": "Rome"}')]) as server, open_provider(server) as provider:
        result = await Agent(provider, gate=allow_all()).send("?", output=Weather)
    assert (result.status, result.error and result.error.code) == ("failed", "output.invalid")
    assert '"degrees" is a required property' in str(result.error)


async def test_openai_is_asked_strictly_where_the_form_permits_it() -> None:
    async with MockLLM([say(GOOD), say("{}")]) as server, openai.provider_at(server.base_url) as provider:
        agent = Agent(provider, gate=allow_all())
        await agent.send("?", output=Weather)
        assert (await agent.send("?", output=Loose)).output == Loose()
    first, second = ((r.json or {})["response_format"] for r in server.requests)
    assert first == {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}}
    assert "strict" not in second["json_schema"]


async def test_openai_keeps_the_tools_of_a_repair_listed_and_forbids_to_call_them() -> None:
    async with MockLLM([say("no"), say(GOOD)]) as server, openai.provider_at(server.base_url) as provider:
        await Agent(provider, tools=[look], gate=allow_all()).send("?", output=Weather)
        first, second = (r.json or {} for r in server.requests)
    assert ("tool_choice" in first, second["tool_choice"], second["tools"]) == (False, "none", first["tools"])


async def test_ollama_is_held_to_the_form_once_calls_are_over() -> None:
    async with MockLLM([say("no"), say(GOOD)]) as server, ollama.provider_at(server.ollama_url) as provider:
        await Agent(provider, tools=[look], gate=allow_all()).send("?", output=Weather)
        first, second = (r.json or {} for r in server.requests)
    assert ("tools" in first, "format" in first) == (True, False)
    assert ("tools" in second, second["format"]) == (False, SCHEMA)


TEXT = {"type": "string"}
OPEN_OBJECT = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
CLOSED = {**OPEN_OBJECT, "additionalProperties": False}
NOT_STRICT: dict[str, object] = {
    "open": OPEN_OBJECT,
    "optional": {**CLOSED, "required": []},
    "a list outside": {"type": "array", "items": TEXT},
    "no object": [],
    "anything inside": {**CLOSED, "properties": {"a": {}}},
    "open inside": {**CLOSED, "properties": {"a": {"type": "array", "items": OPEN_OBJECT}}},
    "open in a choice": {**CLOSED, "properties": {"a": {"anyOf": [TEXT, OPEN_OBJECT]}}},
    "a length": {**CLOSED, "properties": {"a": {**TEXT, "maxLength": 3}}},
    "a range": {**CLOSED, "properties": {"a": {"type": "integer", "minimum": 3}}},
    "true": {**CLOSED, "properties": {"a": True}},
}


@pytest.mark.parametrize("schema", NOT_STRICT.values(), ids=NOT_STRICT)
def test_what_vendors_refuse_in_a_strict_form_is_not_asked_for_strictly(schema: object) -> None:
    assert not permits_strict(json.dumps(schema).encode())


def closed(fields: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": fields, "required": sorted(fields), "additionalProperties": False}


STRICT = st.recursive(
    st.sampled_from([TEXT, {"enum": ["a", 1]}, {"type": "null", "description": "none"}]),
    lambda inner: st.one_of(
        st.builds(lambda one: {"type": "array", "items": one}, inner),
        st.builds(lambda some: {"anyOf": some}, st.lists(inner, min_size=1, max_size=3)),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(closed),
    ),
    max_leaves=8,
)


@pytest.mark.property
@given(STRICT)
def test_a_closed_form_is_strict_and_one_open_object_anywhere_makes_it_loose(inner: dict[str, object]) -> None:
    assert permits_strict(json.dumps(closed({"a": inner})).encode())
    loose = closed({"a": inner, "b": {"type": "array", "items": {"anyOf": [OPEN_OBJECT]}}})
    assert not permits_strict(json.dumps(loose).encode())
