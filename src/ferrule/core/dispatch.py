"""One tool call, from the model's words to its result.

hooks tool_call -> unknown tool -> arguments -> schema -> gate on the FINAL
arguments -> approval -> intent on disk -> execute -> guard -> hooks
tool_result -> guard again. An edit by a person goes back to the schema and
the gate, never to the hooks.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from ..ports.clock import Clock, Ids
from ..ports.gate import GateKeeper
from ..ports.guard import Guard
from ..types.access import NOBODY, Access, AccessRequest, Allow, ApprovalRequest, Ask, Decision, Deny
from ..types.codec import clean
from ..types.errors import FerruleError, HookTypeError, NestedSend, PolicyDenied, ToolError, UsageError
from ..types.events import ApprovalAnswered, ApprovalAsked, Head, Notice, ToolFinished, ToolStarted
from ..types.log_context import bound
from ..types.tools import ToolCall, ToolResult
from .approval import Asking, digest_of, refusal
from .context import ToolCallContext
from .foreign import Broke, called, ran
from .hooks import FinishedCall, HookSet, UnknownTool
from .pump import GuardedPump
from .results import CANCELLED, TOO_DEEP, bounded, guarded_value, own_arguments
from .toolset import BoundTool, ToolSet

log = logging.getLogger(__name__)

MOST_EDITS = 20
"""Edits of one call by the people asked; a surface that only ever edits would never end."""


class Surroundings(Protocol):
    """What a call needs of its turn."""

    @property
    def head(self) -> Head:
        """The turn's ids."""
        ...

    @property
    def tools(self) -> ToolSet:
        """The tools of this round."""
        ...

    @property
    def hooks(self) -> HookSet:
        """The hooks of this turn."""
        ...

    @property
    def listens(self) -> bool:
        """Whether anybody sees events."""
        ...

    def emit(self, kind: type[Any], /, **fields: object) -> None:
        """Send an event, if anybody listens."""
        ...

    def waiting(self) -> AbstractContextManager[None]:
        """Stop the turn's clock while a person is asked."""
        ...

    def reserve_call(self) -> ToolResult | None:
        """Count one call; a result says that the limit is reached."""
        ...

    async def intend(self, call: ToolCall) -> None:
        """Put on disk that a call with side effects is about to run."""
        ...

    def denied(self, rule: str) -> None:
        """Note that a rule or a person stopped a call."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What a dispatcher works with, beside the gate."""

    asking: Asking
    guard: Guard
    clock: Clock
    ids: Ids
    result_chars: int


@dataclass(slots=True)
class _Cleared:
    """A call that may run, as it was judged; `call` has the final arguments, which nobody else holds."""

    tool: BoundTool
    call: ToolCall
    converted: Any
    accesses: tuple[Access, ...]


class Dispatcher:
    """Runs calls. `gate` is required and has no default: there is no way to build one without it."""

    def __init__(self, gate: GateKeeper, services: Services) -> None:
        self._gate = gate
        self._with = services

    async def dispatch(self, call: ToolCall, turn: Surroundings) -> ToolResult:
        """Run one call to its result; only cancellation and misuse of hooks raise."""
        began = self._with.clock.monotonic()
        pump = GuardedPump(self._with.guard, turn.emit, call.id)
        context = ToolCallContext(call, head=turn.head, handles=self._gate.handles, pump=pump)
        try:
            with bound({"tool": call.id}):
                cleared = await self._clear(context, turn)
                result = cleared if isinstance(cleared, ToolResult) else await self._execute(cleared, context, turn)
                pump.flush()
                result = await self._finish(result, context, turn)
        # A call that people were told of is also told to have ended; what stopped it goes on.
        except BaseException:
            if context.is_shown:
                self._ended(turn, call.id, CANCELLED, began + context.waited_s)
            raise
        self._ended(turn, call.id, result, began + context.waited_s)
        return result

    def _ended(self, turn: Surroundings, call_id: str, result: ToolResult, began: float) -> None:
        if not turn.listens:
            return
        turn.emit(
            ToolFinished,
            call_id=call_id,
            is_error=result.is_error,
            code=result.code,
            duration_ms=int((self._with.clock.monotonic() - began) * 1000),
            bytes=len(result.content) if result.content.isascii() else len(result.content.encode()),
            truncated=result.truncated,
            origin=result.origin,
            trusted=result.trusted,
        )

    async def _clear(self, context: ToolCallContext, turn: Surroundings) -> _Cleared | ToolResult:
        if turn.hooks.looks_at("tool_call"):
            denial = await self._asked_hooks(context, turn)
            if denial is not None:
                return self._refused(turn, context, "hook", denial)
        tool = turn.tools.tools.get(context.name)
        if tool is None:
            return self._refused(turn, context, "tool.unknown", await self._unknown(context, turn))
        if context.call.fault is not None and context.arguments == context.call.arguments:
            text = f"The arguments of {context.name} could not be read: {context.call.fault}"
            return self._refused(turn, context, "tool.arguments", ToolResult.failed("tool.arguments", text))
        return await self._judge(context, tool, turn)

    async def _asked_hooks(self, context: ToolCallContext, turn: Surroundings) -> ToolResult | None:
        """Let hooks deny or rewrite; one that breaks has judged nothing, so the call does not run."""
        try:
            reason = await turn.hooks.ask("tool_call", context)
        except (HookTypeError, NestedSend):
            raise
        except FerruleError as error:
            return ToolResult.failed(error.code, f"Not done: {_told(error)}")
        return None if reason is None else ToolResult.failed("hook.denied", reason)

    async def _judge(self, context: ToolCallContext, tool: BoundTool, turn: Surroundings) -> _Cleared | ToolResult:
        for _ in range(MOST_EDITS + 1):
            prepared = self._prepared(context, tool)
            if isinstance(prepared, ToolResult):
                return self._refused(turn, context, prepared.code, prepared)
            cleared, decision = prepared
            if not context.is_shown:
                self._started(turn, context, _word(decision), decision.rule)
            if isinstance(decision, Allow):
                return cleared
            if isinstance(decision, Deny):
                turn.denied(decision.rule)
                return ToolResult.failed("policy.denied", f"Denied by {decision.rule}: {decision.reason}")
            verdict = await self._ask(context, cleared, decision, turn)
            if verdict is not None:
                return verdict
        turn.denied("approval.stale")
        text = f"Not done: the call was changed {MOST_EDITS + 1} times without being allowed."
        return ToolResult.failed("approval.stale", text)

    def _prepared(self, context: ToolCallContext, tool: BoundTool) -> tuple[_Cleared, Decision] | ToolResult:
        """Check the present arguments and have them judged."""
        final = own_arguments(context.arguments)
        if final is None:
            return ToolResult.failed("tool.arguments", f"The arguments of {context.name} cannot be used: {TOO_DEEP}")
        try:
            faults = tool.faults(final)
        except UsageError as error:
            return ToolResult.failed("tool.schema", f"{context.name} cannot be called: {error}")
        if faults:
            text = f"The arguments of {context.name} do not fit its schema: " + "; ".join(faults)
            return ToolResult.failed("tool.arguments", text)
        cleared = called(_cleared, context.call, tool, final)
        if isinstance(cleared, Broke):  # effects that a tool cannot tell cannot be judged
            return self._broken(context, cleared)
        assert isinstance(cleared, _Cleared)
        return cleared, self._gate.decide(AccessRequest(tool=context.name, accesses=cleared.accesses, arguments=final))

    async def _ask(
        self, context: ToolCallContext, cleared: _Cleared, decision: Ask, turn: Surroundings
    ) -> _Cleared | ToolResult | None:
        """Ask a person; None after an edit, which is judged anew."""
        request = await self._question(context, cleared, decision)
        turn.emit(
            ApprovalAsked,
            approval_id=request.id,
            call_id=request.call_id,
            reason=request.reason,
            digest=request.digest,
            preview=request.preview,
            principals=request.principals,
            expires_ms=request.expires_ms,
        )
        answer, since = NOBODY, self._with.clock.monotonic()
        try:
            with turn.waiting():
                answer = await self._with.asking.ask(request)
        finally:  # a question that is taken back because the turn is stopped was answered by nobody
            context.waited_s += self._with.clock.monotonic() - since
            turn.emit(
                ApprovalAnswered,
                approval_id=request.id,
                answer=answer.answer,
                by=answer.by,
                source=answer.source,
                arguments=guarded_value(self._with.guard, answer.arguments or {}) if answer.answer == "edit" else None,
            )
        if not self._with.asking.may_answer(answer):
            told = self._with.asking.who(answer)
            turn.emit(Notice, code="approval.not_entitled", text=told)
            turn.denied("approval.not_entitled")
            return ToolResult.failed("approval.not_entitled", f"Not done: {told}.")
        if answer.answer == "deny":
            turn.denied(f"approval.{answer.source}")
            return refusal(answer, decision.reason)
        if answer.answer == "edit":
            edited = answer.arguments or {}
            context.arguments = own_arguments(edited) or dict(edited)  # what is too deep is refused when it is judged
            return None
        if digest_of(context.name, context.arguments, self._gate.revision) != request.digest:
            turn.denied("approval.stale")
            return ToolResult.failed(
                "approval.stale", "Not done: the call or the policy changed after it was approved."
            )
        if answer.answer == "always":
            self._gate.remember(request.pattern)
        return cleared

    async def _question(self, context: ToolCallContext, cleared: _Cleared, decision: Ask) -> ApprovalRequest:
        preview = ""
        if cleared.tool.previewing is not None:
            shown = await ran(cleared.tool.previewing.preview, cleared.converted, context)
            preview = f"(no preview: {clean(str(shown.error))})" if isinstance(shown, Broke) else clean(str(shown))
        services = self._with
        pattern = decision.pattern
        return ApprovalRequest(
            id=services.ids.new("apr"),
            call_id=context.call_id,
            tool=context.name,
            arguments=guarded_value(services.guard, context.arguments),
            reason=services.guard.clean(decision.reason),
            rule=decision.rule,
            digest=digest_of(context.name, context.arguments, self._gate.revision),
            preview=services.guard.clean(preview),
            pattern=pattern if services.guard.clean(pattern) == pattern else "",  # what is hidden cannot be agreed to
            principals=services.asking.principals,
            expires_ms=services.clock.now_ms() + int(services.asking.timeout_s * 1000),
        )

    async def _execute(self, cleared: _Cleared, context: ToolCallContext, turn: Surroundings) -> ToolResult:
        if (over := turn.reserve_call()) is not None:
            return over
        if cleared.accesses and any(access.action != "files.read" for access in cleared.accesses):
            await turn.intend(cleared.call)
        result = await ran(cleared.tool.tool.execute, cleared.converted, context)
        if isinstance(result, ToolResult) and type(result.content) is str:
            return result
        if isinstance(result, str):
            return ToolResult.text(str.__str__(result))  # of a subclass too, whatever it makes of itself
        if isinstance(result, Broke):
            return self._raised(context, result, turn)
        kind = type(result).__name__
        return ToolResult.failed(
            "tool.result", f"{context.name} gave back a {kind}, which is neither text nor a result."
        )

    def _raised(self, context: ToolCallContext, broke: Broke, turn: Surroundings) -> ToolResult:
        """Turn what a tool raised into an answer to the model; it does not end the turn."""
        error = broke.error
        if isinstance(error, asyncio.CancelledError):
            return ToolResult.failed(
                "tool.cancelled", f"{context.name} gave up: something it waited for was cancelled."
            )
        if isinstance(error, PolicyDenied):
            turn.denied(error.code)
        if isinstance(error, PolicyDenied | ToolError):
            return ToolResult.failed(error.code, _told(error))
        return self._broken(context, broke)

    def _broken(self, context: ToolCallContext, broke: Broke) -> ToolResult:
        log.error("tool %s failed", context.name, exc_info=broke.error)
        return ToolResult.failed("tool.failed", f"{context.name} failed: {broke.told}")

    async def _finish(self, result: ToolResult, context: ToolCallContext, turn: Surroundings) -> ToolResult:
        guard = self._with.guard
        shown = guard.clean(clean(result.content))
        if shown is not result.content:
            result = replace(result, content=shown)
        if not turn.hooks.looks_at("tool_result"):
            return bounded(result, self._with.result_chars)
        try:
            replaced = await turn.hooks.ask("tool_result", FinishedCall(context, result))
        except (HookTypeError, NestedSend):
            raise
        except FerruleError as error:  # what a hook was to look at is not shown unseen
            text = f"{context.name} has ended, but its result is withheld: {guard.clean(_told(error))}"
            return ToolResult.failed(error.code, text)
        if replaced is not None:
            result = replace(result, content=guard.clean(clean(replaced)))
        return bounded(result, self._with.result_chars)

    async def _unknown(self, context: ToolCallContext, turn: Surroundings) -> ToolResult:
        names = tuple(turn.tools.tools)
        told = None
        try:
            told = await turn.hooks.ask("unknown_tool", UnknownTool(context.call, names, turn.head.agent))
        except (HookTypeError, NestedSend):
            raise
        except FerruleError as error:
            log.error("no hook answered for %s: %s", context.name, error)
        if told is None:
            near = difflib.get_close_matches(context.name, names, 3, 0.4) or names[:8]
            told = f"There is no tool {context.name!r}. Available: {', '.join(near) or 'none'}."
        return ToolResult.failed("tool.unknown", told)

    def _refused(self, turn: Surroundings, context: ToolCallContext, rule: str, result: ToolResult) -> ToolResult:
        if context.is_shown:
            return result
        self._started(turn, context, "deny", rule)
        if rule == "hook":
            turn.denied(rule)
        return result

    def _started(
        self, turn: Surroundings, context: ToolCallContext, decision: Literal["allow", "ask", "deny"], rule: str
    ) -> None:
        context.is_shown = True
        if not turn.listens:
            return
        arguments: Mapping[str, object] = guarded_value(self._with.guard, context.arguments)
        turn.emit(
            ToolStarted, call_id=context.call_id, name=context.name, arguments=arguments, decision=decision, rule=rule
        )


def _cleared(call: ToolCall, tool: BoundTool, final: dict[str, object]) -> _Cleared:
    """Make the tool's own arguments, and list its effects; the tool's code may raise anything."""
    converted = tool.convert(final)
    accesses = tool.accesses(converted)
    if final != call.arguments:
        call = replace(call, arguments=final, raw="")
    return _Cleared(tool, call, converted, accesses)


def _word(decision: Decision) -> Literal["allow", "ask", "deny"]:
    if isinstance(decision, Allow):
        return "allow"
    return "ask" if isinstance(decision, Ask) else "deny"


def _told(error: FerruleError) -> str:
    return f"{error} ({error.hint})" if error.hint else str(error)
