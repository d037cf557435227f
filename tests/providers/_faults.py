"""Faults of a network, done to the answers of a real server while a real agent talks to it."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ferrule.core.agent import Agent
from ferrule.core.options import AgentOptions
from ferrule.ports.tool import ToolContext
from ferrule.testing.clock import InstantClock
from ferrule.testing.gates import allow_all
from ferrule.types.turn import TurnResult
from tests.providers._ask import provider_at
from tests.providers._scripts import CORPUS, Script
from tests.providers._vendor import LAST, STREAM_HEAD, Act, Asked, Step, Vendor, chunk, delta, served, sse, whole

IDLE_S = 0.2
LIMIT_S = 3.0
"""Longer than three attempts that each wait out the idle limit, on a machine in use."""

DONE_TEXT = "All done."
AGAIN = ("x", "look", '{"again": 1}')


def _scripts() -> tuple[Script, ...]:
    """Take ten answers with calls and ten without, from all over the corpus; each means something and is short."""
    good = [s for s in CORPUS if s.right.error is None and s.right.reason in ("stop", "tool_calls")]
    short = [s for s in good if 150 < len(s.body) < 1500]
    calls = [s for s in short if s.right.calls and all(arguments[:1] == "{" for _, _, arguments in s.right.calls)]
    texts = [s for s in short if s.right.text.strip() and not s.right.calls]
    return (*calls[:: len(calls) // 10][:10], *texts[:: len(texts) // 10][:10])


SCRIPTS = _scripts()
Fault = Callable[[bytes, int], list[Step]]


def _headed(fields: str, *steps: Step) -> list[Step]:
    return [f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{fields}\r\n\r\n".encode(), *steps]


def _error_inside(body: bytes, at: int) -> list[Step]:
    report = b'{"error": {"type": "server_error", "message": "gave up"}}'
    if body.lstrip()[:1] == b"{":
        return whole(report)
    end = max(body.rfind(b"\n\n", 0, at) + 2, body.rfind(b"\r\r", 0, at) + 2, body.rfind(b"\r\n\r\n", 0, at) + 4)
    end = end if end > 4 else 0
    return [STREAM_HEAD, chunk(body[:end] + b"data: " + report + b"\n\n" + body[end:]), LAST]


def _bad_utf8(body: bytes, at: int) -> list[Step]:
    """Put a byte that no text holds into a payload."""
    at = body.find(b'"', at)
    at = at if at >= 0 else body.rfind(b'"')
    return [STREAM_HEAD, chunk(body[: at + 1] + b"\xff" + body[at + 1 :]), LAST]


FAULTS: Mapping[str, Fault] = {
    "cut and closed": lambda body, at: _headed("Connection: close", body[:at], Act.DROP),
    "cut and ended": lambda body, at: [STREAM_HEAD, *([chunk(body[:at])] if at else []), LAST],
    "stall": lambda body, at: [STREAM_HEAD, *([chunk(body[:at])] if at else []), Act.STALL],
    "stall in the head": lambda body, at: [STREAM_HEAD[: at % len(STREAM_HEAD)], Act.STALL],
    "reset": lambda body, at: [STREAM_HEAD, *([chunk(body[:at])] if at else []), Act.RESET],
    "reset without an answer": lambda body, at: [Act.RESET],
    "length too long": lambda body, at: _headed(f"Content-Length: {len(body) + 1 + at}", body, Act.DROP),
    "length too short": lambda body, at: _headed(f"Content-Length: {at}", body),
    "chunk cut": lambda body, at: [STREAM_HEAD, chunk(body)[: at + 2], Act.DROP],
    "drip": lambda body, at: [STREAM_HEAD, *(chunk(body[i : i + 1]) for i in range(len(body))), LAST],
    "429": lambda body, at: whole(b'{"error": "slow down"}', status="429 Too Many", headers="Retry-After: 0\r\n"),
    "500": lambda body, at: whole(b"oops", status="500 Internal Server Error"),
    "html": lambda body, at: whole(b"<!doctype html><title>Welcome</title>", headers="Content-Type: text/html\r\n"),
    "empty": lambda body, at: whole(b""),
    "error inside": _error_inside,
    "duplicate id": lambda body, at: whole(body),
    "bad UTF-8": _bad_utf8,
    "closed between requests": lambda body, at: [STREAM_HEAD, chunk(body), LAST, Act.DROP],
    "reset between requests": lambda body, at: [STREAM_HEAD, chunk(body), LAST, Act.RESET],
}
"""Name -> what the server does instead of giving the body; `at` is a place in the body."""

HARMLESS = ("drip", "duplicate id", "closed between requests", "reset between requests")
"""These lose nothing of an answer, so that the turn has to come out as without them."""


@dataclass
class FaultyVendor(Vendor):
    """Answers the first request, or each first one of a turn, with a fault; then with the script and an end."""

    fault: list[Step] = field(default_factory=list)
    body: bytes = b""
    always: bool = False
    reuse_id: bool = False
    faults: int = 0

    def choose(self, asked: Asked) -> list[Step]:
        """Pick the answer by what the conversation holds."""
        messages = asked.json["messages"]
        assert isinstance(messages, list)
        results = [m for m in messages if m["role"] == "tool"]
        if not results:
            if self.always or not self.faults:
                self.faults += 1
                return self.fault
            return whole(self.body)
        if self.reuse_id and not any("again" in str(m.get("tool_calls", "")) for m in messages):
            number, name, arguments = results[0]["tool_call_id"], *AGAIN[1:]
            function = {"name": name, "arguments": arguments}
            again = [{"index": 0, "id": number, "type": "function", "function": function}]
            return whole(sse(delta(tool_calls=again), delta("tool_calls"), "[DONE]"))
        return whole(sse(delta(content=DONE_TEXT), delta("stop"), "[DONE]"))


class Recorder:
    """A tool that remembers what it was run with."""

    input_schema: Mapping[str, object] = {"type": "object"}

    def __init__(self, name: str, runs: list[tuple[str, str]]) -> None:
        self.name = name
        self._runs = runs

    async def execute(self, arguments: Mapping[str, object], context: ToolContext) -> str:
        """Note the run."""
        self._runs.append((self.name, json.dumps(arguments, ensure_ascii=False)))
        return "ok"


class Ear(logging.Handler):
    """Hears tracebacks, and errors that nobody took."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what is a fault of the runtime."""
        if record.exc_info or record.levelno >= logging.ERROR or "Traceback" in record.getMessage():
            self.heard.append(record.getMessage())


@asynccontextmanager
async def listening() -> AsyncIterator[Ear]:
    """Hear everything for a block, the loop's own complaints too."""
    ear, root, loop = Ear(), logging.getLogger(), asyncio.get_running_loop()
    root.addHandler(ear)
    loop.set_exception_handler(lambda _, context: ear.heard.append(str(context)))
    try:
        yield ear
    finally:
        loop.set_exception_handler(None)
        root.removeHandler(ear)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One combination of script, fault, place, and how often the fault happens."""

    script: Script
    fault: str
    at: int
    always: bool

    @classmethod
    def of(cls, seed: int) -> Case:
        """Return the case of a seed: scripts first, then faults, then once or always; the place is drawn."""
        script = SCRIPTS[seed % len(SCRIPTS)]
        rest = seed // len(SCRIPTS)
        return cls(
            script=script,
            fault=list(FAULTS)[rest % len(FAULTS)],
            always=bool(rest // len(FAULTS) % 2),
            at=random.Random(seed).randrange(len(script.body)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What came of a case."""

    result: TurnResult
    runs: tuple[tuple[str, str], ...]
    took_s: float
    heard: tuple[str, ...]
    faults: int


async def seen(case: Case) -> Seen:
    """Run one turn against a faulty server."""
    body, runs = case.script.body, list[tuple[str, str]]()
    server = FaultyVendor(
        deque(),
        fault=FAULTS[case.fault](body, case.at),
        body=body,
        always=case.always,
        reuse_id=case.fault == "duplicate id",
    )
    tools = [Recorder(name, runs) for name in ("look", "find", "f", "g", "now")]
    async with listening() as ear, served(server), provider_at(f"{server.url}/v1", idle_s=IDLE_S) as provider:
        agent = Agent(provider, gate=allow_all(), tools=tools, options=AgentOptions(clock=InstantClock()))
        start = time.monotonic()
        result = await agent.send("go")
        took_s = time.monotonic() - start
    return Seen(result=result, runs=tuple(runs), took_s=took_s, heard=tuple(ear.heard), faults=server.faults)


def wrongs(case: Case, found: Seen) -> list[str]:
    """Name the rules that a case broke."""
    right = case.script.right
    calls = tuple((name, arguments) for _, name, arguments in right.calls)
    again = ((AGAIN[1], AGAIN[2]),) if calls and case.fault == "duplicate id" else ()
    text = DONE_TEXT if calls else right.text
    result, is_whole = found.result, sorted(found.runs) == sorted(calls + again)
    is_equal = result.status == "completed" and result.text == text and is_whole
    code = result.error.code if result.error is not None else ""
    rules = {
        "traceback": bool(found.heard),
        "wait": found.took_s > LIMIT_S,
        "partial": not is_whole and bool(found.runs),
        "silent": not (is_equal or (result.status == "failed" and code.startswith("provider."))),
        "lost": case.fault in HARMLESS and not is_equal,
        "unmet": not found.faults,
    }
    return [name for name, is_broken in rules.items() if is_broken]
