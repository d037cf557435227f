"""One object per call, from the hooks through the gate into the tool."""

from __future__ import annotations

from ..ports.handles import Commands, Files, Handles, Pump
from ..ports.memory import MemoryStore
from ..types.errors import PolicyDenied
from ..types.events import Head
from ..types.tools import ToolCall
from .results import own_arguments


class ToolCallContext:
    """What hooks and the running tool see of one call; the same instance throughout.

    Attributes:
        call: What the model asked for, never changed.
        arguments: The arguments that will be judged and used. A `tool_call`
            hook rewrites a call by changing them; that is recorded.
        state: Room for hooks to keep what they need until `tool_result`.
        is_shown: Whether people have been told of the call.
        waited_s: Seconds that people took to answer questions about the call; no part of the tool's time.
    """

    __slots__ = ("_handles", "_head", "_pump", "arguments", "call", "is_shown", "state", "waited_s")

    def __init__(self, call: ToolCall, *, head: Head, handles: Handles, pump: Pump) -> None:
        self.call = call
        self.arguments: dict[str, object] = own_arguments(call.arguments) or dict(call.arguments)
        self.is_shown = False
        self.waited_s = 0.0
        self.state: dict[str, object] = {}
        self._head = head
        self._handles = handles
        self._pump = pump

    @property
    def name(self) -> str:
        """The tool's name as the model wrote it."""
        return self.call.name

    @property
    def agent(self) -> str:
        """Alias of the calling agent."""
        return self._head.agent

    @property
    def session_id(self) -> str:
        """The session of the call."""
        return self._head.session_id

    @property
    def turn_id(self) -> str:
        """The turn of the call."""
        return self._head.turn_id

    @property
    def call_id(self) -> str:
        """The call's id."""
        return self.call.id

    @property
    def files(self) -> Files:
        """The agent's files.

        Raises:
            PolicyDenied: the agent has no file handle.
        """
        if self._handles.files is None:
            raise PolicyDenied("this agent has no access to files", code="handle.files")
        return self._handles.files

    @property
    def commands(self) -> Commands:
        """The agent's commands.

        Raises:
            PolicyDenied: the agent has no command handle.
        """
        if self._handles.commands is None:
            raise PolicyDenied("this agent may not run commands", code="handle.commands")
        return self._handles.commands

    @property
    def memory(self) -> MemoryStore:
        """The agent's memory.

        Raises:
            PolicyDenied: the agent has none.
        """
        if self._handles.memory is None:
            raise PolicyDenied("this agent has no memory", code="handle.memory")
        return self._handles.memory

    @property
    def output(self) -> Pump:
        """Shows a piece of output to people while the tool runs."""
        return self._pump
