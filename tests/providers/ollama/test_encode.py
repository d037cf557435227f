"""How a history is told to an Ollama server, over a real socket."""

from __future__ import annotations

import base64

import pytest

from ferrule.providers._attachments import MOST_BYTES
from ferrule.types.errors import BadRequest
from ferrule.types.messages import Message, tool_message, user_message
from ferrule.types.parts import FilePart, ImagePart, Part, TextPart
from ferrule.types.tools import ToolCall, ToolResult
from tests.providers._ask import calls_of, reasoning_of, request, text_of
from tests.providers._vendor import Step, streamed, vendor
from tests.providers.ollama._ask import answered, ask, end, failure, line, lines, provider_at, refused

HELLO = streamed(lines(line("Hello"), end()))
SEES = answered({"capabilities": ["completion", "vision"]})
BLIND = answered({"capabilities": ["completion"]})
IMAGE = ImagePart(media_type="image/png", data=b"\x89PNG")
BASE64 = base64.b64encode(b"\x89PNG").decode()


def shown(*parts: Part) -> Message:
    return user_message(parts, id="u")


async def test_what_a_thinking_model_said_goes_back_as_it_came() -> None:
    call = {"id": "c9", "function": {"name": "look", "arguments": {"p": "."}}, "mark": 1}
    async with vendor(streamed(lines(line(thinking="hm", tool_calls=[call]), end()))) as server:
        events = await ask(server)
        (made,) = calls_of(events)
        said = Message(
            id="a", role="assistant", calls=(made,), reasoning=reasoning_of(events), reasoning_field="thinking"
        )
        result = tool_message(made, ToolResult(), id="t")
        await ask(server, request(user_message("hi", id="u"), said, result))
    assert server.asked[1].json["messages"] == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [call]},
        {"role": "tool", "tool_name": "look", "tool_call_id": "c9", "content": "(no output)"},
    ]


async def test_what_another_vendor_added_stays_with_that_vendor() -> None:
    call = ToolCall(id="c1", name="f", arguments={}, extra={"signature": "x"}, dialect="openai-chat")
    said = Message(id="a", role="assistant", calls=(call,), reasoning="hm", reasoning_field="reasoning_content")
    asked = request(user_message("hi", id="u"), said, tool_message(call, ToolResult(content="ok"), id="t"))
    async with vendor(HELLO) as server:
        await ask(server, asked)
    sent = server.asked[0].json["messages"]
    assert isinstance(sent, list)
    assert sent[1] == {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {}}}],
    }


async def test_images_go_beside_the_text_once_the_server_has_said_that_the_model_sees() -> None:
    asked = request(shown(TextPart(text="What is this?"), IMAGE))
    async with vendor(SEES, HELLO) as server, provider_at(server.url) as provider:
        for _ in range(2):
            assert text_of([e async for e in provider.stream(asked)]) == "Hello"
    assert [a.line.split()[1] for a in server.asked] == ["/api/show", "/api/chat", "/api/chat"]
    assert server.asked[0].json == {"model": "m"}
    assert server.asked[1].json["messages"] == [{"role": "user", "content": "What is this?", "images": [BASE64]}]


@pytest.mark.parametrize("says", [answered({}), answered({"capabilities": "odd", "model_info": []}), refused("no")])
async def test_a_server_that_does_not_say_gets_the_image(says: list[Step]) -> None:
    async with vendor(says, HELLO) as server:
        await ask(server, request(shown(IMAGE)))
    assert BASE64.encode() in server.asked[1].body


UNREADABLE: dict[str, tuple[list[list[Step]], Part, str]] = {
    "blind": ([BLIND], IMAGE, "an image, which this model cannot see"),
    "address": ([SEES], ImagePart(media_type="image/png", url="http://x.test/a.png"), "the address of an image"),
    "no image": ([SEES], ImagePart(media_type="image/png", data=b"<svg/>"), "an image, which is no PNG"),
    "empty": ([SEES], ImagePart(media_type="image/png"), "an image, which is empty"),
    "huge": ([SEES], ImagePart(media_type="image/png", data=b"\x89PNG" + bytes(MOST_BYTES)), "an image, which has 20"),
    "pdf": (
        [HELLO],
        FilePart(name="a.pdf", media_type="application/pdf", data=b"%PDF"),
        "the file a.pdf (application/pdf)",
    ),
    "not text": ([HELLO], FilePart(name="a.txt", media_type="text/plain", data=b"\xff"), "the file a.txt (text/plain)"),
}


@pytest.mark.parametrize(("before", "part", "said"), UNREADABLE.values(), ids=UNREADABLE)
async def test_what_cannot_be_taken_is_refused_when_it_is_sent_and_mentioned_afterwards(
    before: list[list[Step]], part: Part, said: str
) -> None:
    async with vendor(*before, HELLO) as server:
        _, error = await failure(server, request(shown(TextPart(text="Look:"), part)))
        assert isinstance(error, BadRequest)
        assert said in str(error)
        assert all("/api/chat" not in a.line for a in server.asked)
    async with vendor(*before, HELLO) as server:
        asked = request(shown(TextPart(text="Look:"), part), user_message("And now?", id="v"))
        assert text_of(await ask(server, asked)) == "Hello"
        sent = server.asked[-1].json["messages"]
    assert isinstance(sent, list)
    assert f"Look:\n\n({said}" in sent[0]["content"]
    assert "was sent here)" in sent[0]["content"]


async def test_a_text_file_is_told_with_its_name() -> None:
    part = FilePart(name="a.json", media_type="application/json", data=b'{"a": 1}')
    async with vendor(HELLO) as server:
        await ask(server, request(shown(TextPart(text="Look:"), part)))
    assert server.asked[0].json["messages"] == [{"role": "user", "content": 'Look:\n\nFile a.json:\n{"a": 1}'}]


async def test_images_of_tools_follow_after_the_last_answer_and_a_blind_model_is_told_of_them() -> None:
    one, two = (ToolCall(id=f"c{i}", name="shot", arguments={}) for i in (1, 2))
    said = Message(id="a", role="assistant", calls=(one, two))
    asked = request(
        user_message("hi", id="u"),
        said,
        tool_message(one, ToolResult(content="done", parts=(IMAGE,)), id="t"),
        tool_message(two, ToolResult(content="done"), id="s"),
    )
    for facts, extra in ((SEES, {"images": [BASE64]}), (BLIND, {})):
        async with vendor(facts, HELLO) as server:
            await ask(server, asked)
            sent = server.asked[1].json["messages"]
        assert isinstance(sent, list)
        assert [m["role"] for m in sent] == ["user", "assistant", "tool", "tool", "user"]
        assert sent[4]["content"].startswith("Output of shot (c1):")
        assert {k: v for k, v in sent[4].items() if k == "images"} == extra
        assert ("cannot see" in sent[4]["content"]) is (facts is BLIND)
