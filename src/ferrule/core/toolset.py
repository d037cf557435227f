"""The tools of one agent, frozen in a stable order."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import is_
from typing import Any
from weakref import WeakValueDictionary

import orjson

from ..ports.schema_check import SchemaCheck, SchemaCompiler
from ..ports.tool import Declaring, Previewing, Tool, ToolSource
from ..types.access import Access, Action
from ..types.errors import UsageError
from ..types.tools import ToolSpec
from .foreign import Broke, called
from .schema_of import converter_of, schema_of

log = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_RAW = b'{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}'
"""Shown for a tool without a schema; it gets the string itself."""

_ACTIONS: frozenset[Action] = frozenset({"files.read", "files.write", "command.run", "network.connect", "custom"})


class BoundTool:
    """One tool, adopted: its schema as bytes, its declared effects, and how its arguments are made.

    Attributes:
        previewing: The tool itself, if it can show what a call would do.
    """

    __slots__ = (
        "_check",
        "_compiler",
        "_convert",
        "_declaring",
        "_effects",
        "_raw",
        "_read",
        "needs",
        "previewing",
        "spec",
        "tool",
    )

    def __init__(self, tool: Tool, compiler: SchemaCompiler) -> None:
        self._read = _declared(tool)
        name = tool.name
        if not _NAME.match(name):
            raise UsageError(f"{name!r} is no tool name", hint="1 to 64 characters of A-Z, a-z, 0-9, _ and -")
        schema, self._convert, self._raw = _shape(tool)
        self.tool = tool
        self.spec = ToolSpec(name=name, description=_description(tool), schema=schema)
        self.needs = _needs(tool)
        self._effects = _effects(name, self.needs)
        self._declaring = tool if isinstance(tool, Declaring) else None
        self.previewing = tool if isinstance(tool, Previewing) else None
        self._compiler = compiler
        self._check: SchemaCheck | None = None

    @property
    def is_current(self) -> bool:
        """Whether the tool still declares the very same things; one that makes them anew each time never does."""
        return all(map(is_, _declared(self.tool), self._read))

    def faults(self, arguments: Mapping[str, object]) -> list[str]:
        """Return what is wrong with a call's arguments; the schema is compiled at the first call."""
        if self._check is None:
            self._check = self._compiler.compile(self.spec.schema)
        return self._check.faults(arguments)

    def convert(self, arguments: Mapping[str, object]) -> Any:
        """Return validated arguments in the form that the tool takes."""
        if self._raw:
            return arguments["input"]
        return self._convert(arguments) if self._convert is not None else arguments

    def accesses(self, converted: Any) -> tuple[Access, ...]:
        """List the effects of a call; a tool that declares nothing about itself is one `custom` effect."""
        if self._declaring is None or self.needs is None:
            return self._effects
        return tuple(self._declaring.accesses(converted))


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ToolSet:
    """An immutable set of tools; `specs` is what a model is shown."""

    specs: tuple[ToolSpec, ...]
    tools: Mapping[str, BoundTool]


class Toolbox:
    """Builds the tool set from fixed tools and from sources that may change between rounds."""

    def __init__(self, offered: Iterable[Tool | ToolSource], compiler: SchemaCompiler) -> None:
        self._compiler = compiler
        self._sources: list[ToolSource] = []
        offered = tuple(offered)
        shared = _shared.get((id(compiler), *map(id, offered)))
        if shared is not None and all(bound.is_current for bound in shared.tools.values()):
            self.current = shared
            return
        self._fixed: list[BoundTool] = []
        for item in offered:
            if isinstance(item, Tool):
                self._fixed.append(BoundTool(item, compiler))
            elif isinstance(item, ToolSource):
                self._sources.append(item)
            else:
                raise UsageError(
                    f"{item!r} is neither a tool nor a tool source",
                    hint="a tool has `name` and `execute`; wrap a function with @tool",
                )
        self._marks: list[object] = [None] * len(self._sources)
        self._offers: list[tuple[BoundTool, ...]] = [()] * len(self._sources)
        self.current = self._freeze()
        if not self._sources:
            _shared[(id(compiler), *map(id, offered))] = self.current

    def refresh(self) -> ToolSet:
        """Return the present set; the same object as before when nothing changed.

        A source that breaks, or offers what is no tool, keeps what it offered before; that is logged.
        """
        changed = False
        for i, source in enumerate(self._sources):
            answer = called(self._look, i, source)
            if isinstance(answer, Broke):
                log.error("a tool source failed: %s", answer.told, exc_info=answer.error)
            changed = changed or answer is True
        if changed:
            self.current = self._freeze()
        return self.current

    def _look(self, i: int, source: ToolSource) -> bool:
        revision: object = _optional(source, "revision")
        if revision is not None and self._marks[i] == ("revision", revision):
            return False
        offer = tuple(source.additional_tools())
        mark: object = ("revision", revision) if revision is not None else tuple(map(id, offer))
        if mark == self._marks[i]:
            return False
        known = {id(bound.tool): bound for bound in self._offers[i]}
        self._offers[i] = tuple(known.get(id(tool)) or BoundTool(tool, self._compiler) for tool in offer)
        self._marks[i] = mark
        return True

    def _freeze(self) -> ToolSet:
        tools: dict[str, BoundTool] = {}
        for bound in self._fixed:
            if bound.spec.name in tools:
                raise UsageError(f"two tools are called {bound.spec.name!r}", hint="give one of them another name")
            tools[bound.spec.name] = bound
        for offer in self._offers:
            for bound in offer:
                tools.setdefault(bound.spec.name, bound)  # a fixed tool cannot be replaced by a source
        return ToolSet(specs=tuple(bound.spec for bound in tools.values()), tools=tools)


_shared: WeakValueDictionary[tuple[int, ...], ToolSet] = WeakValueDictionary()
"""The sets of fixed tools in use, by the identities of compiler and tools, which each set keeps alive."""


def _declared(tool: Tool) -> tuple[object, ...]:
    """Return what a tool says about itself, unread."""
    return (
        tool.name,
        _optional(tool, "description"),
        _optional(tool, "input_schema"),
        _optional(tool, "arguments"),
        _optional(tool, "needs"),
    )


def _shape(tool: Tool) -> tuple[bytes, Callable[[Any], Any] | None, bool]:
    """Return schema, conversion, and whether the tool takes the raw string."""
    arguments = _optional(tool, "arguments")
    schema = _optional(tool, "input_schema")
    if callable(schema):
        schema = schema()
    if isinstance(arguments, type):
        made = schema_of(arguments) if schema is None else _bytes(schema)
        return made, converter_of(arguments), False
    if schema is None:
        return _RAW, None, True
    return _bytes(schema), None, False


def _bytes(schema: object) -> bytes:
    return schema if isinstance(schema, bytes) else orjson.dumps(schema)


def _description(tool: Tool) -> str:
    described = _optional(tool, "description")
    if callable(described):
        described = described()
    return str(described) if described else inspect.getdoc(type(tool)) or ""


def _needs(tool: Tool) -> frozenset[Action] | None:
    declared = _optional(tool, "needs")
    if declared is None:
        return None
    needs = frozenset(declared)
    if unknown := needs - _ACTIONS:
        raise UsageError(f"tool {tool.name!r} needs {sorted(unknown)}", hint=f"known: {', '.join(sorted(_ACTIONS))}")
    return needs


def _effects(name: str, needs: frozenset[Action] | None) -> tuple[Access, ...]:
    if needs is None:
        return (Access(action="custom", target=name),)
    return tuple(Access(action=need) for need in sorted(needs))


def _optional(part: object, name: str) -> Any:
    """Read a member that a part may lack."""
    return getattr(part, name, None)
