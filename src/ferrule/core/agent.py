"""The agent: what people embed. `send` for the outcome, `stream` for every step on the way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import replace

from ..ports.gate import Approver, GateKeeper
from ..ports.provider import CompletionProvider, Provider
from ..ports.session import Session
from ..ports.tool import Tool, ToolSource
from ..types.errors import FerruleError, NestedSend, StoreError, UsageError
from ..types.events import AgentEvent, ErrorInfo
from ..types.log_context import LogKey, bound
from ..types.messages import Content, Message, is_blank
from ..types.tools import ToolCall, ToolResult
from ..types.turn import TurnResult
from .approval import Asking
from .conversation import Conversation, undisturbed, until_done
from .dispatch import Dispatcher, Services
from .endings import Ending, Stopped, ending_of
from .feed import EventFeed
from .guard import NoSecrets
from .hand_call import HandCall
from .hooks import HookTable
from .leash import INSIST_S
from .loop import run_turn
from .memory_session import MemorySession
from .options import AgentOptions
from .output import Form, OutputForm
from .parts import AgentParts
from .provider_shapes import as_provider
from .toolset import Toolbox
from .turn import Turn

log = logging.getLogger(__name__)

NO_GATE = "no gate"
"""The label of a gate that lets everything pass; it stands in every log line of such an agent."""

_inside: ContextVar[tuple[Turn, ...]] = ContextVar("ferrule_inside", default=())
"""The turns within which the present code runs, or which started it and may be over."""


class Agent:
    """One conversation with a model that may use tools, behind a gate.

    Turns run one after the other; up to `Limits.queue` more may wait. The
    agent is bound to the event loop it is first used in.
    """

    def __init__(
        self,
        provider: Provider | CompletionProvider,
        *,
        gate: GateKeeper,
        tools: Iterable[Tool | ToolSource] = (),
        approver: Approver | None = None,
        session: Session | None = None,
        options: AgentOptions | None = None,
    ) -> None:
        """Put an agent together.

        Args:
            provider: The model API.
            gate: Decides about every tool call. Required: there is no agent without one.
            tools: Tools, and sources of tools. Exactly these are shown to the model.
            approver: Asks a person; without one, whatever needs an approval is denied and says so.
            session: Where the conversation is kept; in memory when absent.
            options: Everything else.

        Raises:
            UsageError: a tool or the provider does not have the shape of its port.
        """
        self._options = options = options or _DEFAULTS
        self._gate = gate
        self._hooks = HookTable()
        self._provider = as_provider(provider)
        self._approver = approver
        self._toolbox = Toolbox(tools, options.schemas)
        self._parts = self._assemble(session)
        self._busy = asyncio.Lock()
        self._waiting = 0
        self._turn: Turn | None = None

    @property
    def session(self) -> Session:
        """Where the conversation is kept."""
        return self._parts.conversation.session

    @property
    def gate(self) -> GateKeeper:
        """What decides about this agent's calls."""
        return self._gate

    def in_session(self, session: Session | None) -> Agent:
        """Return an agent of the same parts and hooks in another session (a new one in memory when None)."""
        twin = object.__new__(Agent)
        twin.__dict__.update(self.__dict__)
        held = session if session is not None else MemorySession(self._options.ids.new("ses"))
        twin._parts = self._parts.around(Conversation(held, self._parts.conversation.system))
        twin._busy, twin._waiting, twin._turn = asyncio.Lock(), 0, None
        return twin

    def use(self, hooks: object) -> None:
        """Add an object with any of the hook methods; see `ferrule.core.hooks`.

        Raises:
            HookTypeError: it has none.
        """
        self._hooks.add(hooks)

    def cancel(self, reason: str = "cancelled") -> bool:
        """Stop the running turn; False when none runs, or when it is ending already. What was done is kept."""
        return self._turn is not None and self._turn.leash.cancel(reason)

    async def send(self, content: Content, *, raise_on_error: bool = False, output: Form | None = None) -> TurnResult:
        """Send a message and wait for the outcome.

        Args:
            content: Text, or parts in order.
            raise_on_error: Raise instead of returning a result that is not completed.
            output: A dataclass, or a JSON Schema; the answer is given as an instance of the one, or as a document that
                follows the other, in the result's `output`. An answer that does not fit is asked for once more; a
                second one ends the turn as failed, with ``output.invalid``.

        Raises:
            UsageError: the message is blank; or `output` is neither a dataclass nor a valid schema, or has no form in
                JSON.
            NestedSend: called from inside this agent's own turn.
            HookTypeError: a hook returned neither None nor a string.
            FerruleError: only with `raise_on_error`; its code is that of the result's error.
        """
        result = await self._take_turn(content, None, self._form(output))
        if raise_on_error and result.status != "completed":
            error = result.error or ErrorInfo(code=f"turn.{result.status}", message=f"the turn was {result.status}")
            raise FerruleError(error.message, hint=error.hint, code=error.code)
        return result

    async def stream(self, content: Content, *, output: Form | None = None) -> AsyncGenerator[AgentEvent, None]:
        """Send a message and yield every event; the last one is `TurnFinished`.

        Leaving the iteration cancels the turn; what was said so far is kept.

        Args:
            content: Text, or parts in order.
            output: As for `send`; the value is the `output` of `TurnFinished`. Text is shown as it is written, also
                that of an answer which does not fit.

        Raises:
            UsageError, NestedSend, HookTypeError: as for `send`, when the iteration begins.
        """
        form = self._form(output)
        feed = EventFeed()
        task = asyncio.ensure_future(self._take_turn(content, feed.put, form))
        task.add_done_callback(lambda _: feed.wake())
        try:
            while True:
                while feed.items:
                    yield feed.items.popleft()
                if task.done():
                    break
                await feed.wait()
            task.result()
        finally:
            if not task.done():
                await undisturbed(_ended(task))

    async def call(
        self, name: str, arguments: Mapping[str, object], *, on_event: Callable[[AgentEvent], None] | None = None
    ) -> ToolResult:
        """Call a tool by hand, through the same hooks, gate and approval; not part of the conversation."""
        call = ToolCall(id=self._options.ids.new("call"), name=name, arguments=dict(arguments))
        with self._labels(""):
            return await self._parts.dispatcher.dispatch(call, HandCall(self._parts, on_event))

    async def _take_turn(
        self, content: Content, listener: Callable[[AgentEvent], None] | None, form: OutputForm | None = None
    ) -> TurnResult:
        if is_blank(content):
            raise UsageError(
                "there is no message: it holds no word, image or file", hint="send what the model is to do"
            )
        if any(turn is self._turn for turn in _inside.get()):
            raise NestedSend("this agent is inside a turn of its own", hint="send to another agent, or after the turn")
        if self._waiting > self._options.limits.queue:
            return await self._refuse_busy(content, listener)
        self._waiting += 1
        try:
            async with self._busy:
                turn = self._turn = Turn(self._parts, content, listener=listener, form=form)
                token = _inside.set((*_inside.get(), turn))
                try:
                    with self._labels(turn.turn_id):
                        return await self._drive(turn)
                finally:
                    self._turn = None
                    _inside.reset(token)
        finally:
            self._waiting -= 1

    async def _drive(self, turn: Turn) -> TurnResult:
        """Run a turn and turn every ending into an outcome; only misuse and the task's own cancellation raise."""
        fault: BaseException | None = None
        leash = turn.leash
        leash.start()
        try:
            await run_turn(turn)
        except (Stopped, FerruleError, asyncio.CancelledError) as ended:
            fault = ended
        # Providers and hooks are other people's code too: the turn ends as failed, and leaves a valid history.
        except Exception as broken:
            log.exception("the turn broke")
            fault = broken
        leash.release()
        if leash.stop is not None and isinstance(fault, StoreError):
            turn.tell_unstored(fault)
        ending = ending_of(leash.stop or fault, is_cancelled=leash.is_cancelled)
        if turn.settles_at_once and not leash.is_stopped:
            result = await turn.settle(ending)
        else:  # a cancellation that is still on its way is taken in here
            settling = asyncio.ensure_future(turn.settle(ending))
            await until_done(settling)
            result = settling.result()
        raises = ending.raises or (asyncio.CancelledError() if leash.is_cancelled else None)
        leash.forget()
        if raises is not None:
            raise raises
        return result

    async def _refuse_busy(self, content: Content, listener: Callable[[AgentEvent], None] | None) -> TurnResult:
        turn = Turn(self._parts, content, listener=listener)
        busy = ErrorInfo(
            code="turn.busy",
            message=f"{self._options.limits.queue} messages wait already",
            hint="wait for an answer before sending more",
        )
        with self._labels(turn.turn_id):
            return await turn.settle(Ending("failed", busy))

    def _assemble(self, session: Session | None) -> AgentParts:
        options = self._options
        principals = tuple(dict.fromkeys((options.principal, *options.approvers)))
        services = Services(
            asking=Asking(self._approver, options.approval_timeout_s, principals),
            guard=options.guard or NoSecrets(),
            clock=options.clock,
            ids=options.ids,
            result_chars=options.limits.result_chars,
        )
        system = Message(id="system", role="system", text=options.instructions, origin="operator")
        model = options.model
        if options.single_tool_rounds and model.parallel_calls is None:
            model = replace(model, parallel_calls=False)
        held = session if session is not None else MemorySession(options.ids.new("ses"))
        return AgentParts(
            provider=self._provider,
            model=str(getattr(self._provider, _MODEL, "") or ""),
            toolbox=self._toolbox,
            dispatcher=Dispatcher(self._gate, services),
            hooks=self._hooks,
            conversation=Conversation(held, system if options.instructions else None),
            options=options,
            model_options=model,
        )

    def _form(self, output: Form | None) -> OutputForm | None:
        return None if output is None else OutputForm(output, self._options.schemas)

    def _labels(self, turn_id: str) -> bound:
        """Bind the ids that log lines carry; an agent without a gate says so in each."""
        ids: dict[LogKey, str] = {"agent": self._options.name, "session": self.session.id, "turn": turn_id}
        if self._gate.label == NO_GATE:
            ids["gate"] = NO_GATE
        return bound(ids)


_DEFAULTS = AgentOptions()

_MODEL = "model"
"""Providers name their model if they have one; the port does not ask for it."""


async def _ended(task: asyncio.Task[TurnResult]) -> None:
    """Cancel a turn that nobody follows any more, until it has ended."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=INSIST_S)
