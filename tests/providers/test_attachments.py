"""A part that vendors refuse fails the message that brings it, before anything is sent, and no later one."""

from __future__ import annotations

import json

import pytest

from ferrule.core.agent import Agent
from ferrule.providers._attachments import MOST_BYTES, fault_of, media_type
from ferrule.testing.gates import allow_all
from ferrule.testing.mock_llm import MockLLM, say
from ferrule.types.messages import Message, user_message
from ferrule.types.parts import FilePart, ImagePart, Part, TextPart
from tests.providers._ask import provider_at, request

KINDS = {
    "image/png": b"\x89PNG\r\n\x1a\n0",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a0",
    "image/webp": b"RIFF\x04\x00\x00\x00WEBPVP8 ",
}
BAD: dict[str, tuple[Part, str]] = {
    "other bytes": (ImagePart(media_type="image/png", data=b"<svg/>"), "an image, is no PNG, JPEG, GIF or WebP"),
    "empty": (ImagePart(media_type="image/png"), "an image, is empty"),
    "image too large": (ImagePart(media_type="image/gif", data=b"GIF89a".ljust(MOST_BYTES + 1)), "20971521 bytes"),
    "file too large": (
        FilePart(name="a.pdf", media_type="application/pdf", data=bytes(MOST_BYTES + 1)),
        "the file a.pdf, has 20971521 bytes",
    ),
}


@pytest.mark.parametrize(("kind", "data"), KINDS.items(), ids=KINDS)
async def test_an_image_is_sent_as_what_its_bytes_say(kind: str, data: bytes) -> None:
    assert media_type(data) == kind
    async with MockLLM([say("seen")]) as server, provider_at(server.base_url) as provider:
        agent = Agent(provider, gate=allow_all())
        result = await agent.send((TextPart(text="look"), ImagePart(media_type="image/x-wrong", data=data)))
    assert result.status == "completed"
    assert f"data:{kind};base64," in server.requests[0].body.decode()


@pytest.mark.parametrize(("part", "named"), BAD.values(), ids=BAD)
async def test_a_bad_part_fails_its_own_message_and_the_session_goes_on(part: Part, named: str) -> None:
    async with MockLLM([say("fine")]) as server, provider_at(server.base_url) as provider:
        agent = Agent(provider, gate=allow_all())
        failed = await agent.send((TextPart(text="look"), part))
        assert (failed.status, failed.error and failed.error.code) == ("failed", "provider.bad_request")
        assert named in str(failed.error)
        assert "part 1 of the message" in str(failed.error)
        assert not server.requests
        assert (await agent.send("and now?")).text == "fine"
    body = server.requests[0].body
    assert b"was left out: it " in body
    assert len(body) < 10_000


async def test_a_bad_part_of_a_tool_is_replaced_by_a_sentence() -> None:
    bad = BAD["other bytes"][0]
    history = [user_message("hi", id="m1"), Message(id="m2", role="tool", call_id="c", name="look", parts=(bad,))]
    async with MockLLM([say("fine")]) as server, provider_at(server.base_url) as provider:
        assert [event async for event in provider.stream(request(*history))]
    shown = json.loads(server.requests[0].body)["messages"][-1]["content"]
    assert shown[-1] == {"type": "text", "text": "(an image was left out: it is no PNG, JPEG, GIF or WebP)"}


def test_a_part_at_the_limit_and_an_address_are_good() -> None:
    assert fault_of(FilePart(name="a", media_type="text/plain", data=bytes(MOST_BYTES))) is None
    assert fault_of(ImagePart(media_type="", url="https://x.test/a")) is None
    assert fault_of(TextPart(text="")) is None
