"""The embedded model, really loaded. Shapes are asserted, never the meaning of an answer."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import orjson
import pytest

from ferrule.providers.local import ADAPTER, Settings
from ferrule.providers.local.engine import Engine, complete, find_weights
from ferrule.providers.local.provider import LocalProvider, chat_messages
from ferrule.testing.clock import SequenceIds
from ferrule.types.completion import CallReady, Finished, ModelOptions, ProviderEvent, Request, TextChunk, UsageReported
from ferrule.types.errors import BadRequest, ContextOverflow, ProviderError
from ferrule.types.messages import Message
from ferrule.types.parts import ImagePart
from ferrule.types.tools import ToolCall, ToolSpec


def tool(name: str, description: str, **required: object) -> ToolSpec:
    schema = {"type": "object", "properties": required, "required": list(required)}
    return ToolSpec(name=name, description=description, schema=orjson.dumps(schema))


FILES = (
    tool("file_read", "Read one text file.", path={"type": "string"}),
    tool("list_directory", "List what is in a folder."),
)
HOUSE = (
    tool("lamp_switch", "Switch a lamp on or off.", room={"enum": ["kitchen", "hall"]}, on={"type": "boolean"}),
    tool("heating_set", "Set the temperature of a room.", degrees={"type": "integer"}),
)
ONE = (tool("roll_dice", "Roll some dice.", sides={"type": "array", "items": {"type": "integer"}, "maxItems": 2}),)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.close()


@pytest.fixture
def provider(engine: Engine) -> LocalProvider:
    return LocalProvider(name="local.demo", engine=engine, ids=SequenceIds(), answer_tokens=24)


def user(text: str) -> Message:
    return Message(id="m1", role="user", text=text)


async def collect(events: AsyncIterator[ProviderEvent]) -> list[ProviderEvent]:
    return [event async for event in events]


@pytest.mark.contract
@pytest.mark.parametrize("tools", [FILES, HOUSE, ONE], ids=["files", "house", "one"])
@pytest.mark.parametrize("text", ["What is here?", "Bitte zeige mir, was hier liegt."])
async def test_an_answer_is_text_or_one_whole_call_of_an_offered_tool(
    provider: LocalProvider, tools: tuple[ToolSpec, ...], text: str
) -> None:
    events = await collect(provider.stream(Request(id="r", messages=(user(text),), tools=tools)))
    assert isinstance(events[-1], Finished)
    calls = [event.call for event in events if isinstance(event, CallReady)]
    texts = [event for event in events if isinstance(event, TextChunk)]
    assert bool(calls) != bool(texts)
    for call in calls:
        schema = orjson.loads(next(spec.schema for spec in tools if spec.name == call.name))
        assert list(call.arguments) == schema["required"]


async def test_after_a_result_the_model_can_only_answer(provider: LocalProvider) -> None:
    history = (
        user("What is here?"),
        Message(id="m2", role="assistant", calls=(ToolCall(id="c1", name="list_directory", arguments={}),)),
        Message(id="m3", role="tool", call_id="c1", name="list_directory", text="README.md"),
    )
    events = await collect(provider.stream(Request(id="r", messages=history, tools=FILES)))
    assert not [event for event in events if isinstance(event, CallReady)]
    assert len([event for event in events if isinstance(event, TextChunk)]) > 1
    assert isinstance(events[-2], UsageReported)
    assert events[-2].usage.output


async def test_an_answer_stops_at_its_limit(provider: LocalProvider) -> None:
    options = ModelOptions(max_output_tokens=3)
    events = await collect(provider.stream(Request(id="r", messages=(user("Tell me a story."),), options=options)))
    assert events[-1] == Finished(reason="length", model=provider.model)
    assert len([event for event in events if isinstance(event, TextChunk)]) <= 3


async def test_leaving_the_stream_stops_the_model_and_the_next_request_runs(engine: Engine) -> None:
    provider = LocalProvider(name="local.demo", engine=engine, ids=SequenceIds(), answer_tokens=1000)
    stream = provider.stream(Request(id="r", messages=(user("Count to one hundred."),)))
    async for _ in stream:
        break
    await stream.aclose()
    async with asyncio.timeout(10):
        short = Request(id="r", messages=(user("Hi"),), options=ModelOptions(max_output_tokens=2))
        assert isinstance((await collect(provider.stream(short)))[-1], Finished)


async def test_a_message_longer_than_the_window_is_refused_before_it_is_sent(provider: LocalProvider) -> None:
    with pytest.raises(ContextOverflow, match="window"):
        await collect(provider.stream(Request(id="r", messages=(user("x" * 10_000),))))


async def test_an_image_is_refused(provider: LocalProvider) -> None:
    picture = Message(id="m", role="user", text="see", parts=(ImagePart(media_type="image/png", data=b"x"),))
    with pytest.raises(BadRequest, match="text only"):
        await collect(provider.stream(Request(id="r", messages=(picture,))))


async def test_what_the_binding_refuses_is_a_provider_error(engine: Engine) -> None:
    with pytest.raises(ProviderError, match="grammar"):
        await engine.call(lambda server: complete(server, {"prompt": "x", "grammar": "no grammar"}))
    with pytest.raises(ProviderError, match="messages"):
        await engine.call(lambda server: server.handle_chat_completions({"messages": "x"}))


async def test_the_model_listens_on_no_network_port(engine: Engine) -> None:
    address = await engine.call(lambda server: str(server.listening_address))
    assert address.startswith("unix:")
    folder = Path(address.removeprefix("unix://")).parent
    assert folder.stat().st_mode & 0o077 == 0


def test_the_history_shown_to_the_small_window_alternates_and_ends_with_the_question() -> None:
    messages = [Message(id="s", role="system", text="long operator prompt")]
    for i in range(20):
        messages += [user(f"q{i}"), Message(id="a", role="assistant", text=f"a{i}")]
    messages += [user("q"), Message(id="t", role="tool", name="t", text="y" * 9_000), Message(id="t2", role="tool")]
    shown = chat_messages(messages)
    assert [m["role"] for m in shown[:2]] == ["system", "user"]
    assert all(a["role"] != b["role"] for a, b in itertools.pairwise(shown))
    assert shown[-1]["content"].endswith("The result is:\n(no output)\n\nAnswer in one short sentence.")
    assert sum(len(m["content"]) for m in shown) < 6_000


def test_the_weights_are_found_without_importing_their_package() -> None:
    assert find_weights().suffix == ".gguf"


def test_the_adapter_is_called_local_and_its_settings_are_closed() -> None:
    assert (ADAPTER.kind, ADAPTER.name) == ("providers", "local")
    with pytest.raises(ValueError, match="extra"):
        Settings.model_validate({"model": "x"})
