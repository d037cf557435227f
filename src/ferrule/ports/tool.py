"""Something the model can call, and something that offers such things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from ..types.access import Access
from ..types.tools import ToolResult
from .handles import Commands, Files, Pump
from .memory import MemoryStore


class ToolContext(Protocol):
    """What a running tool may use. The same object went through the hooks and the gate before."""

    @property
    def agent(self) -> str:
        """Alias of the calling agent."""
        ...

    @property
    def session_id(self) -> str:
        """The session of the call."""
        ...

    @property
    def turn_id(self) -> str:
        """The turn of the call."""
        ...

    @property
    def call_id(self) -> str:
        """The call's id."""
        ...

    @property
    def files(self) -> Files:
        """The agent's files.

        Raises:
            PolicyDenied: the agent has no file handle.
        """
        ...

    @property
    def commands(self) -> Commands:
        """The agent's commands.

        Raises:
            PolicyDenied: the agent has no command handle.
        """
        ...

    @property
    def memory(self) -> MemoryStore:
        """The agent's memory.

        Raises:
            PolicyDenied: the agent has none.
        """
        ...

    @property
    def output(self) -> Pump:
        """Shows a piece of output to people while the tool runs."""
        ...


@runtime_checkable
class Tool(Protocol):
    """Something the model can call.

    Only `name` and `execute` must exist. `description` defaults to the
    docstring. The schema is `input_schema` (a mapping, JSON bytes, or a
    callable that gives one), else it is made from `arguments`, a frozen
    dataclass; `execute` then gets an instance of it. A tool with a schema
    but without `arguments` gets the validated dict; one with neither gets
    the raw argument string.

    What it may touch is declared by `needs` (kinds of `Action`); an empty set
    says "nothing". A tool without `needs` is judged as `custom`. Its exact
    effects come from `Declaring.accesses`.
    """

    @property
    def name(self) -> str:
        """At most 64 characters of ``A-Za-z0-9_-``; unique in a tool set."""
        ...

    async def execute(self, arguments: Any, context: ToolContext) -> ToolResult | str:
        """Do it. A string is a successful result; any exception becomes an error result.

        Raises:
            ToolError: it cannot be done; the text is shown to the model.
            PolicyDenied: a handle refused.
        """
        ...


@runtime_checkable
class Declaring(Protocol):
    """A tool that tells its effects before it runs, from its final arguments."""

    def accesses(self, arguments: Any) -> Sequence[Access]:
        """List every effect of a call with these arguments; the gate judges each one."""
        ...


@runtime_checkable
class Previewing(Protocol):
    """A tool that can show a person what a call would do, without doing it."""

    async def preview(self, arguments: Any, context: ToolContext) -> str:
        """Return a diff or a full command line; "" when there is nothing to show."""
        ...


@runtime_checkable
class ToolSource(Protocol):
    """Something that offers tools while a session runs.

    With a `revision` (any value that changes when the offer changes) it is
    asked again only when that differs; without one it is asked each round.
    """

    def additional_tools(self) -> Sequence[Tool]:
        """Return the tools offered now."""
        ...


Schema = Mapping[str, object]
