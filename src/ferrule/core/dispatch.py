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
from ..types.access import Access, AccessRequest, Allow, ApprovalRequest, Ask, Decision, Deny
from ..types.codec import clean
from ..types.errors import FerruleError, PolicyDenied, ToolError, UsageError
from ..types.events import ApprovalAnswered, ApprovalAsked, Head, ToolFinished, ToolStarted
from ..types.log_context import bound
from ..types.tools import ToolCall, ToolResult
from .approval import Asking, digest_of, refusal
from .context import ToolCallContext
from .hooks import FinishedCall, HookTable, UnknownTool
from .pump import GuardedPump
from .results import bounded, guarded_value
from .toolset import BoundTool, ToolSet

log = logging.getLogger(__name__)


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

    def emit(self, kind: type[Any], **fields: object) -> None:
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

    hooks: HookTable
    asking: Asking
    guard: Guard
    clock: Clock
    ids: Ids
    result_chars: int


@dataclass(frozen=True, slots=True)
class _Cleared:
    """A call that may run."""

    tool: BoundTool
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
        with bound("tool", call.id):
            cleared = await self._clear(context, turn)
            result = cleared if isinstance(cleared, ToolResult) else await self._execute(cleared, context, turn)
            pump.flush()
            result = await self._finish(result, context)
        turn.emit(
            ToolFinished,
            call_id=call.id,
            is_error=result.is_error,
            code=result.code,
            duration_ms=int((self._with.clock.monotonic() - began) * 1000),
            bytes=len(result.content) if result.content.isascii() else len(result.content.encode()),
            truncated=result.truncated,
            origin=result.origin,
            trusted=result.trusted,
        )
        return result

    async def _clear(self, context: ToolCallContext, turn: Surroundings) -> _Cleared | ToolResult:
        reason = await self._with.hooks.ask("tool_call", context)
        if reason is not None:
            return self._refused(turn, context, "hook", ToolResult.failed("hook.denied", reason))
        tool = turn.tools.tools.get(context.name)
        if tool is None:
            return self._refused(turn, context, "tool.unknown", await self._unknown(context, turn))
        if context.call.fault is not None and context.arguments == context.call.arguments:
            text = f"The arguments of {context.name} could not be read: {context.call.fault}"
            return self._refused(turn, context, "tool.arguments", ToolResult.failed("tool.arguments", text))
        return await self._judge(context, tool, turn)

    async def _judge(self, context: ToolCallContext, tool: BoundTool, turn: Surroundings) -> _Cleared | ToolResult:
        shown = False
        while True:
            try:
                faults = tool.faults(context.arguments)
            except UsageError as error:
                result = ToolResult.failed("tool.schema", f"{context.name} cannot be called: {error}")
                return result if shown else self._refused(turn, context, "tool.schema", result)
            if faults:
                text = f"The arguments of {context.name} do not fit its schema: " + "; ".join(faults)
                result = ToolResult.failed("tool.arguments", text)
                return result if shown else self._refused(turn, context, "tool.arguments", result)
            try:
                converted = tool.convert(context.arguments)
                request = AccessRequest(
                    tool=context.name, accesses=tool.accesses(converted), arguments=context.arguments
                )
            # Effects that a tool cannot tell cannot be judged, whatever went wrong in its code.
            except Exception as error:
                result = self._broken(context, error)
                return result if shown else self._refused(turn, context, "tool.failed", result)
            decision = self._gate.decide(request)
            if not shown:
                self._started(turn, context, _word(decision), decision.rule)
                shown = True
            cleared = _Cleared(tool, converted, request.accesses)
            if isinstance(decision, Allow):
                return cleared
            if isinstance(decision, Deny):
                turn.denied(decision.rule)
                return ToolResult.failed("policy.denied", f"Denied by {decision.rule}: {decision.reason}")
            verdict = await self._ask(context, cleared, decision, turn)
            if verdict is not None:
                return verdict

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
        with turn.waiting():
            answer = await self._with.asking.ask(request)
        turn.emit(ApprovalAnswered, approval_id=request.id, answer=answer.answer, by=answer.by, source=answer.source)
        if answer.answer == "deny":
            turn.denied(f"approval.{answer.source}")
            return refusal(answer, decision.reason)
        if answer.answer == "edit":
            context.arguments = dict(answer.arguments or {})
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
            try:
                preview = await cleared.tool.previewing.preview(cleared.converted, context)
            except (FerruleError, OSError) as error:
                preview = f"(no preview: {clean(str(error))})"
        services = self._with
        return ApprovalRequest(
            id=services.ids.new("apr"),
            call_id=context.call_id,
            tool=context.name,
            arguments=guarded_value(services.guard, context.arguments),
            reason=decision.reason,
            digest=digest_of(context.name, context.arguments, self._gate.revision),
            preview=services.guard.clean(preview),
            pattern=decision.pattern,
            principals=services.asking.principals,
            expires_ms=services.clock.now_ms() + int(services.asking.timeout_s * 1000),
        )

    async def _execute(self, cleared: _Cleared, context: ToolCallContext, turn: Surroundings) -> ToolResult:
        if (over := turn.reserve_call()) is not None:
            return over
        if any(access.action != "files.read" for access in cleared.accesses):
            await turn.intend(context.call)
        try:
            result: object = await cleared.tool.tool.execute(cleared.converted, context)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return ToolResult.failed(
                "tool.cancelled", f"{context.name} gave up: something it waited for was cancelled."
            )
        except PolicyDenied as error:
            turn.denied(error.code)
            return ToolResult.failed(error.code, _told(error))
        except ToolError as error:
            return ToolResult.failed(error.code, _told(error))
        # A tool is somebody else's code: whatever it raises is an answer to the model, not the end of the turn.
        except Exception as error:
            return self._broken(context, error)
        if isinstance(result, str):
            return ToolResult.text(result)
        if isinstance(result, ToolResult):
            return result
        kind = type(result).__name__
        return ToolResult.failed(
            "tool.result", f"{context.name} gave back a {kind}, which is neither text nor a result."
        )

    def _broken(self, context: ToolCallContext, error: Exception) -> ToolResult:
        log.error("tool %s failed", context.name, exc_info=error)
        return ToolResult.failed("tool.failed", f"{context.name} failed: {type(error).__name__}: {error}")

    async def _finish(self, result: ToolResult, context: ToolCallContext) -> ToolResult:
        guard = self._with.guard
        result = replace(result, content=guard.clean(clean(result.content)))
        replaced = await self._with.hooks.ask("tool_result", FinishedCall(context, result))
        if replaced is not None:
            result = replace(result, content=guard.clean(clean(replaced)))
        return bounded(result, self._with.result_chars)

    async def _unknown(self, context: ToolCallContext, turn: Surroundings) -> ToolResult:
        names = tuple(turn.tools.tools)
        told = await self._with.hooks.ask("unknown_tool", UnknownTool(context.call, names))
        if told is None:
            near = difflib.get_close_matches(context.name, names, 3, 0.4) or names[:8]
            told = f"There is no tool {context.name!r}. Available: {', '.join(near) or 'none'}."
        return ToolResult.failed("tool.unknown", told)

    def _refused(self, turn: Surroundings, context: ToolCallContext, rule: str, result: ToolResult) -> ToolResult:
        self._started(turn, context, "deny", rule)
        if rule == "hook":
            turn.denied(rule)
        return result

    def _started(
        self, turn: Surroundings, context: ToolCallContext, decision: Literal["allow", "ask", "deny"], rule: str
    ) -> None:
        arguments: Mapping[str, object] = guarded_value(self._with.guard, context.arguments)
        turn.emit(
            ToolStarted, call_id=context.call_id, name=context.name, arguments=arguments, decision=decision, rule=rule
        )


def _word(decision: Decision) -> Literal["allow", "ask", "deny"]:
    if isinstance(decision, Allow):
        return "allow"
    return "ask" if isinstance(decision, Ask) else "deny"


def _told(error: FerruleError) -> str:
    return f"{error} ({error.hint})" if error.hint else str(error)
