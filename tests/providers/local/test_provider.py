"""The embedded model, really loaded. Shapes are asserted, never the meaning of an answer."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import orjson
import pytest

from ferrule.core.system_clock import SystemClock
from ferrule.ports.adapter import Parts
from ferrule.providers.local import ADAPTER, Settings, open_local
from ferrule.providers.local.provider import LocalProvider
from ferrule.providers.local.shown import demo_messages
from ferrule.providers.local.weights import find_weights
from ferrule.sandbox.dialer import HttpDialer
from ferrule.testing.clock import SequenceIds
from ferrule.types.completion import CallReady, Finished, ModelOptions, ProviderEvent, Request, TextChunk, UsageReported
from ferrule.types.errors import BadRequest, ConfigError, ContextOverflow, ProviderError
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


def opened(home: Path, **settings: object) -> AbstractAsyncContextManager[LocalProvider]:
    parts = Parts(name="local.demo", dialer=HttpDialer({}), clock=SystemClock(), ids=SequenceIds(), home=str(home))
    return open_local(Settings.model_validate(settings), parts)


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[LocalProvider]:
    async with opened(tmp_path, answer_tokens=24) as provider:
        yield provider


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
    assert isinstance(events[-1], Finished)
    assert (events[-1].reason, events[-1].model) == ("length", provider.model)
    assert len([event for event in events if isinstance(event, TextChunk)]) <= 3


def is_alive(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


async def test_leaving_the_stream_stops_the_model_and_the_next_request_runs(tmp_path: Path) -> None:
    async with opened(tmp_path, answer_tokens=1000) as provider, asyncio.timeout(20):
        stream = provider.stream(Request(id="r", messages=(user("Count to one hundred."),)))
        async for _ in stream:
            break
        await stream.aclose()
        short = Request(id="r", messages=(user("Hi"),), options=ModelOptions(max_output_tokens=2))
        assert isinstance((await collect(provider.stream(short)))[-1], Finished)


async def test_cancelling_while_a_long_prompt_is_read_returns_within_a_second(tmp_path: Path) -> None:
    async with opened(tmp_path, answer_tokens=2) as provider:
        short = Request(id="r", messages=(user("Hi"),))
        await collect(provider.stream(short))  # the model is loaded
        task = asyncio.create_task(collect(provider.stream(Request(id="r", messages=(user("word " * 900),)))))
        await asyncio.wait([task], timeout=0.3)
        assert not task.done(), "the prompt was read too soon to be cancelled in it"
        began = time.monotonic()
        task.cancel()
        await asyncio.wait([task])
        assert time.monotonic() - began < 1
        assert task.cancelled()
        assert isinstance((await collect(provider.stream(short)))[-1], Finished)


async def test_closing_frees_the_model_although_it_reads_a_prompt(tmp_path: Path) -> None:
    async with opened(tmp_path, answer_tokens=2) as provider:
        await collect(provider.stream(Request(id="r", messages=(user("Hi"),))))
        pid = provider.engine.pid
        assert pid is not None
        task = asyncio.create_task(collect(provider.stream(Request(id="r", messages=(user("word " * 900),)))))
        await asyncio.wait([task], timeout=0.3)
        began = time.monotonic()
    assert time.monotonic() - began < 2
    assert not is_alive(pid)
    with pytest.raises(ProviderError, match="closed"):
        await task


async def test_a_model_that_dies_is_an_error_and_the_next_request_loads_it_again(tmp_path: Path) -> None:
    async with opened(tmp_path, answer_tokens=1000) as provider, asyncio.timeout(20):
        stream = provider.stream(Request(id="r", messages=(user("Count to one hundred."),)))
        await anext(stream)
        pid = provider.engine.pid
        assert pid is not None
        os.kill(pid, 9)
        with pytest.raises(ProviderError, match="SIGKILL"):
            await collect(stream)
        short = Request(id="r", messages=(user("Hi"),), options=ModelOptions(max_output_tokens=2))
        assert isinstance((await collect(provider.stream(short)))[-1], Finished)
        assert provider.engine.pid != pid


async def test_requests_at_once_are_answered_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    ended: list[int] = []

    async def ask(provider: LocalProvider, number: int) -> None:
        await collect(provider.stream(Request(id=f"r{number}", messages=(user("Hi"),))))
        ended.append(number)

    async with opened(tmp_path, answer_tokens=3) as provider:
        await asyncio.gather(*(ask(provider, number) for number in range(5)))
    assert ended == list(range(5))


async def test_a_file_given_by_path_keeps_its_own_window_and_counts_its_tokens(tmp_path: Path) -> None:
    (tmp_path / "own.gguf").symlink_to(find_weights())
    async with opened(tmp_path, model="own.gguf", context_tokens=256, answer_tokens=3) as provider:
        events = await collect(provider.stream(Request(id="r", messages=(user("Tell me a story."),))))
        (usage,) = [event.usage for event in events if isinstance(event, UsageReported)]
        assert usage.output == 3
        assert usage.input
        with pytest.raises(ContextOverflow, match="256"):
            await collect(provider.stream(Request(id="r", messages=(user("word " * 400),))))


async def test_a_call_reports_the_tokens_of_the_choice(provider: LocalProvider) -> None:
    events = await collect(provider.stream(Request(id="r", messages=(user("What is here?"),), tools=FILES)))
    (usage,) = [event.usage for event in events if isinstance(event, UsageReported)]
    assert usage.input is not None
    assert usage.input > 100
    assert usage.output


async def test_a_larger_window_than_the_model_was_trained_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"100,000.*trained for") as caught:
        async with opened(tmp_path, context_tokens=100_000):
            raise AssertionError("it must not open")
    assert "context_tokens" in str(caught.value.hint)


async def test_a_message_longer_than_the_window_is_refused_before_it_is_sent(provider: LocalProvider) -> None:
    with pytest.raises(ContextOverflow, match="window"):
        await collect(provider.stream(Request(id="r", messages=(user("x" * 10_000),))))


async def test_an_image_is_refused(provider: LocalProvider) -> None:
    picture = Message(id="m", role="user", text="see", parts=(ImagePart(media_type="image/png", data=b"x"),))
    with pytest.raises(BadRequest, match="text only"):
        await collect(provider.stream(Request(id="r", messages=(picture,))))


def test_the_history_shown_to_the_small_window_alternates_and_ends_with_the_question() -> None:
    messages = [Message(id="s", role="system", text="long operator prompt")]
    for i in range(20):
        messages += [user(f"q{i}"), Message(id="a", role="assistant", text=f"a{i}")]
    messages += [user("q"), Message(id="t", role="tool", name="t", text="y" * 9_000), Message(id="t2", role="tool")]
    shown = demo_messages(messages)
    assert [m["role"] for m in shown[:2]] == ["system", "user"]
    assert all(a["role"] != b["role"] for a, b in itertools.pairwise(shown))
    assert shown[-1]["content"].endswith("The result is:\n(no output)\n\nAnswer in one short sentence.")
    assert sum(len(m["content"]) for m in shown) < 6_000


def test_the_weights_are_found_without_importing_their_package() -> None:
    assert find_weights().suffix == ".gguf"


def test_the_adapter_is_called_local_and_its_settings_are_closed() -> None:
    assert (ADAPTER.kind, ADAPTER.name) == ("providers", "local")
    with pytest.raises(ValueError, match="extra"):
        Settings.model_validate({"modle": "x"})
