"""A vendor's real refusal of a long request: at most two requests, pairs intact, and words that help."""

from __future__ import annotations

import json

from ferrule.core.agent import Agent
from ferrule.core.memory_session import MemorySession
from ferrule.core.options import AgentOptions
from ferrule.core.tool_decorator import tool
from ferrule.testing.gates import allow_all
from ferrule.types.messages import Message
from ferrule.types.tools import ToolCall
from tests.providers._ask import provider_at
from tests.providers._vendor import delta, sse, streamed, vendor, whole

REFUSAL = whole(
    json.dumps({"error": {"code": "context_length_exceeded", "message": "limit 2000, sent 9000"}}).encode(),
    status="400 Bad Request",
)
ANSWER = streamed(sse(delta(content="fine"), delta("stop"), "[DONE]"))


def history(turns: int) -> list[Message]:
    """Make a conversation of turns with one call each, about 200 tokens a turn."""
    made: list[Message] = []
    for n in range(turns):
        call = ToolCall(id=f"c{n}", name="look", arguments={}, raw="{}")
        made += [
            Message(id=f"u{n}", role="user", text=f"question {n} " + "?" * 380),
            Message(id=f"a{n}", role="assistant", calls=(call,)),
            Message(id=f"t{n}", role="tool", call_id=call.id, name="look", text="x" * 380),
            Message(id=f"e{n}", role="assistant", text=f"answer {n}"),
        ]
    return made


@tool
def look() -> str:
    """Look."""
    return ""


async def test_a_long_conversation_is_sent_once_more_with_its_newest_turns_and_whole_pairs() -> None:
    async with vendor(REFUSAL, ANSWER) as server, provider_at(server.url) as provider:
        session = MemorySession("ses_1", history(40))
        options = AgentOptions(instructions="Be brief.")
        one = Agent(provider, gate=allow_all(), tools=[look], session=session, options=options)
        result = await one.send("and now?")
        assert (result.status, result.text, len(server.asked)) == ("completed", "fine", 2)
        first, second = (json.loads(asked.body)["messages"] for asked in server.asked)
        assert len(json.dumps(second)) < len(json.dumps(first)) / 4
        assert [m["role"] for m in second[:2]] == ["system", "user"]
        assert second[-1]["content"] == "and now?"
        calls = [c["id"] for m in second for c in m.get("tool_calls", ())]
        assert calls == [m["tool_call_id"] for m in second if m["role"] == "tool"]
        assert calls[-1] == "c39"
        assert len(session.messages) == 40 * 4 + 2


async def test_a_request_with_nothing_to_leave_out_is_made_once_and_the_largest_part_is_named() -> None:
    long = type("Long", (), {"name": "long", "description": "d" * 36_000, "execute": look.execute})()
    async with vendor(REFUSAL, ANSWER) as server, provider_at(server.url) as provider:
        one = Agent(provider, gate=allow_all(), tools=[long])
        result = await one.send("hello")
        assert (result.status, len(server.asked)) == ("failed", 1)
        assert result.error is not None
        assert result.error.code == "provider.context_overflow"
        assert "of 1 tools" in result.error.message
        assert "show the agent fewer tools" in (result.error.hint or "")
