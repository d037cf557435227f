"""An answer in a wanted form: asked for, read, asked for once more, and refused."""

from __future__ import annotations

from dataclasses import dataclass

import orjson
import pytest

from ferrule.core.agent import Agent
from ferrule.testing.scripted import ask, call, say
from ferrule.types.errors import FerruleError, UsageError
from ferrule.types.events import AgentEvent, TurnFinished, as_dict
from ferrule.types.usage import Usage
from tests.core._agents import agent, asked, events_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Wind:
    knots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    city: str
    winds: tuple[Wind, ...] = ()

    def __post_init__(self) -> None:
        if self.city == "Atlantis":
            raise ValueError("there is no such city")


GOOD = '{"city": "Rome", "winds": [{"knots": 3}]}'
ROME = Weather(city="Rome", winds=(Wind(knots=3),))


def schemas(of: Agent) -> list[object]:
    return [orjson.loads(r.options.response_schema or b"null") for r in asked(of)]


@pytest.mark.parametrize("text", [GOOD, f"  {GOOD}\n", f"```json\n{GOOD}\n```", f"```\n{GOOD}```"])
async def test_an_answer_that_fits_is_an_instance_of_the_form(text: str) -> None:
    it = agent(say(text))
    result = await it.send("?", output=Weather)
    assert (result.status, result.output, result.text) == ("completed", ROME, text)
    (schema,) = schemas(it)
    assert isinstance(schema, dict)
    assert (list(schema["properties"]), schema["required"]) == (["city", "winds"], ["city"])
    assert asked(it)[0].options.allow_calls is None


async def test_a_turn_without_a_form_asks_for_none_and_gives_none() -> None:
    it = agent(say(GOOD))
    assert (await it.send("?")).output is None
    assert schemas(it) == [None]


MISFITS = {
    "prose": ("It is windy.", "it is not JSON"),
    "nothing": ("   ", "it is not JSON"),
    "half a fence": ("```", "it is not JSON"),
    "a list": ("[]", "is not of type"),
    "a field missing": ('{"winds": []}', '"city" is a required property'),
    "a field too many": ('{"city": "Rome", "x": 1}', "x"),
    "a wrong field": ('{"city": "Rome", "winds": [{"knots": "3"}]}', "winds.0.knots: "),
    "a number too large": ('{"city": "Rome", "winds": [{"knots": 1e400}]}', "it is not JSON"),
    "a value the form refuses": ('{"city": "Atlantis"}', "there is no such city"),
}


@pytest.mark.parametrize(("text", "why"), MISFITS.values(), ids=MISFITS)
async def test_an_answer_that_does_not_fit_is_asked_for_once_more_with_the_reason_and_the_schema(
    text: str, why: str
) -> None:
    it = agent(say(text, usage=Usage(input=2, output=1)), say(GOOD, usage=Usage(input=3, output=1)))
    result = await it.send("?", output=Weather)
    assert (result.status, result.output, result.rounds, result.usage.total) == ("completed", ROME, 2, 7)
    first, second = asked(it)
    assert second.messages[: len(first.messages)] == first.messages
    repair = second.messages[-1]
    assert (repair.role, repair.origin) == ("user", "operator")
    assert why in repair.text
    assert (first.options.response_schema or b"").decode() in repair.text
    assert (second.options.response_schema, second.options.allow_calls) == (first.options.response_schema, False)


async def test_a_second_answer_that_does_not_fit_ends_the_turn_and_the_next_send_works() -> None:
    it = agent(say("no"), say("never"), say(GOOD))
    result = await it.send("?", output=Weather)
    assert (result.status, result.output, result.text, result.rounds) == ("failed", None, "never", 2)
    assert result.error
    assert result.error.code == "output.invalid"
    assert "Weather" in result.error.message
    assert result.error.hint
    assert (await it.send("again", output=Weather)).output == ROME


async def test_a_misfit_raises_with_its_code_when_that_is_wanted() -> None:
    with pytest.raises(FerruleError) as caught:
        await agent(say("no"), say("never")).send("?", output=Weather, raise_on_error=True)
    assert caught.value.code == "output.invalid"


async def test_tools_are_called_first_and_the_last_answer_is_the_one_that_counts() -> None:
    it = agent(ask(call("double", {"n": 2}), text="Let me see."), say(GOOD))
    result = await it.send("?", output=Weather)
    assert (result.output, result.rounds) == (ROME, 2)
    assert [r.options.allow_calls for r in asked(it)] == [None, None]


async def test_a_call_in_place_of_the_repair_does_not_buy_another_one() -> None:
    it = agent(say("no"), ask(call("double", {"n": 2})), say("never"))
    result = await it.send("?", output=Weather)
    assert (result.status, result.error and result.error.code, result.rounds) == ("failed", "output.invalid", 3)


@pytest.mark.parametrize("wanted", [int, dict])
async def test_what_has_no_form_in_json_is_misuse_and_nothing_is_asked(wanted: type) -> None:
    it = agent()
    with pytest.raises(UsageError):
        await it.send("?", output=wanted)
    assert asked(it) == []


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def last(events: list[AgentEvent]) -> TurnFinished:
    assert isinstance(events[-1], TurnFinished)
    return events[-1]


async def test_a_stream_ends_with_the_answer_in_the_form() -> None:
    it = agent(say("no"), say(GOOD))
    end = last(await events_of(it.stream("?", output=Weather)))
    assert (end.status, end.output, end.rounds) == ("completed", ROME, 2)
    assert orjson.loads(orjson.dumps(as_dict(end)))["output"] == {"city": "Rome", "winds": [{"knots": 3}]}
    assert last(await events_of(agent(say(GOOD)).stream("?"))).output is None


async def test_a_stream_without_an_answer_that_fits_ends_failed_and_without_output() -> None:
    end = last(await events_of(agent(say("no"), say("never")).stream("?", output=Weather)))
    assert (end.status, end.output, end.error and end.error.code) == ("failed", None, "output.invalid")


async def test_a_stream_with_a_form_that_json_lacks_raises_before_anything_is_asked() -> None:
    it = agent()
    with pytest.raises(UsageError):
        await events_of(it.stream("?", output=int))
    assert asked(it) == []


async def test_a_schema_gives_the_document_that_follows_it() -> None:
    it = agent(say("[]"), say('{"city": "Rome"}'))
    result = await it.send("?", output=SCHEMA)
    assert (result.status, result.output) == ("completed", {"city": "Rome"})
    assert schemas(it) == [SCHEMA, SCHEMA]
    failed = await agent(say("[]"), say("[]")).send("?", output=SCHEMA)
    assert failed.error
    assert failed.error.message.startswith("the answer does not fit the schema: ")


@pytest.mark.parametrize("wanted", [{"type": "nonsense"}, {"type": {1, 2}}, {"$ref": "https://example.org/form"}])
async def test_a_schema_that_is_none_is_misuse_and_nothing_is_asked(wanted: dict[str, object]) -> None:
    it = agent()
    with pytest.raises(UsageError, match="schema"):
        await it.send("?", output=wanted)
    assert asked(it) == []
