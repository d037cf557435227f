"""Runs a tool through a real agent and looks at what passes in and out of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

from ...ports.gate import GateKeeper
from ...ports.provider import Provider
from ...ports.tool import Tool, ToolContext
from ...types.completion import Request
from ...types.tools import ToolResult, ToolSpec
from ...types.turn import TurnResult
from ..gates import allow_all
from ..handles import RamWorld
from ..scripted import ScriptedProvider, say


class AgentLike(Protocol):
    """What a law needs of an agent."""

    async def send(self, content: str) -> TurnResult:
        """Take a turn."""
        ...

    async def call(self, name: str, arguments: Mapping[str, object]) -> ToolResult:
        """Call a tool by hand."""
        ...


MakeAgent = Callable[[Provider, GateKeeper, Tool], AgentLike]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCase:
    """A tool under test.

    Attributes:
        tool: The tool.
        arguments: Arguments with which it succeeds.
        agent: Builds an agent that has this one tool.
        files: What lies in its workspace.
        outside: Whether it has effects that no handle carries, such as a connection of its own; it must be judged as
            `custom` then, that is, declare no `needs`.
    """

    tool: Tool
    arguments: Mapping[str, object]
    agent: MakeAgent
    files: Mapping[str, bytes] = field(default_factory=dict)
    outside: bool = False


_OPTIONAL = ("description", "input_schema", "arguments", "needs")


class Probe:
    """A tool that is another tool, and remembers.

    Attributes:
        taken: The arguments as the tool was given them.
        given: What it gave back.
        raised: What it raised.
        reached: What it touched without a handle.
    """

    def __init__(self, tool: Tool) -> None:
        self.name = tool.name
        self.description = type(tool).__doc__ or ""
        for member in _OPTIONAL:
            if hasattr(tool, member):
                self.__dict__[member] = getattr(tool, member)
        self._tool = tool
        self.taken: Any = None
        self.given: object = None
        self.raised: Exception | None = None
        self.reached: list[str] = []

    async def execute(self, arguments: Any, context: ToolContext) -> ToolResult | str:
        """Do what the tool does."""
        self.taken, self.given, self.raised = arguments, None, None
        with watched() as reached:
            try:
                given = await self._tool.execute(arguments, context)
            except Exception as error:
                self.raised = error
                raise
            finally:
                self.reached += reached
        self.given = given
        return given


class Bench:
    """One tool with an agent and a world of its own."""

    def __init__(self, case: ToolCase, world: RamWorld | None = None) -> None:
        self.case = case
        self.world = world if world is not None else RamWorld(case.files, output="done\n")
        self.probe = Probe(case.tool)
        self.provider = ScriptedProvider(say("yes"), say("yes"))
        self.agent = case.agent(self.provider, allow_all(self.world.handles), self.probe)

    async def call(self, arguments: Mapping[str, object] | None = None) -> ToolResult:
        """Call it by hand."""
        return await self.agent.call(self.case.tool.name, self.case.arguments if arguments is None else arguments)

    async def spec(self) -> ToolSpec:
        """Return how a model is shown it."""
        await self.agent.send("hi")
        asked: Request = self.provider.requests[-1]
        (spec,) = asked.tools
        return spec

    async def schema(self) -> dict[str, Any]:
        """Return its schema, decoded."""
        decoded: dict[str, Any] = json.loads((await self.spec()).schema)
        return decoded


# -- what is touched without a handle ---------------------------------------------------------------

_watching: ContextVar[list[str] | None] = ContextVar("ferrule_watching", default=None)
_EVENTS = (
    "open", "socket.", "subprocess.", "os.", "shutil.", "tempfile.", "ctypes.", "sqlite3.", "urllib.", "glob.",
    "pathlib.", "webbrowser.", "pty.",
)  # fmt: skip
_OF_PYTHON = ("<frozen importlib", "linecache.py", "traceback.py", "inspect.py")


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    seen = _watching.get()
    if seen is not None and event.startswith(_EVENTS) and not _is_of_python(sys._getframe(1)):
        seen.append(f"{event}({', '.join(repr(a) for a in arguments[:1])})")


def _is_of_python(frame: FrameType | None) -> bool:
    """Tell whether Python itself is at work: an import, or the text of a traceback."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib") or frame.f_code.co_filename.endswith(_OF_PYTHON):
            return True
        frame = frame.f_back
    return False


_hooked: list[bool] = []


@contextmanager
def watched() -> Iterator[list[str]]:
    """List what the block touches besides memory: files, processes, sockets. Threads that it starts are seen, too."""
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked.append(True)
    seen: list[str] = []
    token = _watching.set(seen)
    try:
        yield seen
    finally:
        _watching.reset(token)


# -- arguments of every kind ------------------------------------------------------------------------

HOSTILE_TEXTS = (
    "",
    " ",
    "\0",
    "../../etc/passwd",
    "/etc/passwd",
    "half \ud83d",
    "a\nb",
    "'; rm -rf / #",
    "[(*",
    "x" * 5_000,
)


def hostile(schema: Mapping[str, Any], good: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Yield arguments that fit the schema and that nobody means well with, one field changed at a time."""
    for name, field_schema in schema.get("properties", {}).items():
        for value in _values(field_schema):
            yield {**good, name: value}


def _values(schema: Mapping[str, Any]) -> Iterator[object]:
    kind = schema.get("type")
    if kind == "string" and "enum" not in schema:
        longest = schema.get("maxLength", 5_000)
        yield from (text for text in HOSTILE_TEXTS if schema.get("minLength", 0) <= len(text) <= longest)
    elif kind in ("integer", "number"):
        yield from (schema[bound] for bound in ("minimum", "maximum") if bound in schema)
        if "minimum" not in schema and "exclusiveMinimum" not in schema:
            yield -(2**53)
    elif kind == "boolean":
        yield from (True, False)
    elif "enum" in schema:
        yield from schema["enum"]


def misfits(schema: Mapping[str, Any], good: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Yield arguments that do not fit the schema: a field lost, of another type, not a JSON value, unknown."""
    for name in schema.get("required", ()):
        yield {key: value for key, value in good.items() if key != name}
    for name, field_schema in schema.get("properties", {}).items():
        if "type" in field_schema:
            yield {**good, name: 7 if field_schema["type"] == "string" else "seven"}
        yield {**good, name: float("nan")}
        yield {**good, name: 2**70}
    if schema.get("additionalProperties") is False:
        yield {**good, "surely_unknown": 1}
