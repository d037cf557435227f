"""How a turn ends: every ending has a status, a coded error unless it completed, and a sentence for people."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from ..ports.guard import Guard
from ..types.codec import clean
from ..types.errors import FerruleError, HookTypeError, LimitReached, NestedSend
from ..types.events import ErrorInfo, TurnStatus
from .foreign import Broke

GO_ON = "send another message to go on"


class Stopped(Exception):
    """Ends a turn with another status than completed; never leaves the core."""

    def __init__(self, status: TurnStatus, error: ErrorInfo) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a turn; `raises` is what `send` raises after everything is tidied up."""

    status: TurnStatus
    error: ErrorInfo | None = None
    raises: BaseException | None = None


def limit_of(what: str, message: str, key: str) -> LimitReached:
    """Make what ends a turn at a limit; the session stays usable."""
    return LimitReached(message, code=f"limit.{what}", hint=f"{GO_ON}, or raise {key} in the runtime profile")


def info_of(error: FerruleError) -> ErrorInfo:
    """Return an error as surfaces show it; an error without words is named by its code."""
    return ErrorInfo(code=error.code, message=str(error) or error.code, hint=error.hint)


def ending_of(fault: BaseException | None, *, is_cancelled: bool) -> Ending:
    """Turn what the loop ended with into an outcome.

    Args:
        fault: What was raised; None when the model answered.
        is_cancelled: Whether somebody cancelled the task itself; that is passed on, whatever else happened.
    """
    if is_cancelled:
        error = fault.error if isinstance(fault, Stopped) else ErrorInfo(code="turn.cancelled", message="cancelled")
        raises = fault if isinstance(fault, asyncio.CancelledError) else asyncio.CancelledError()
        return Ending("cancelled", error, raises)
    if fault is None:
        return Ending("completed")
    if isinstance(fault, Stopped):
        return Ending(fault.status, fault.error)
    if isinstance(fault, LimitReached):
        return Ending("limit", info_of(fault))
    if isinstance(fault, HookTypeError | NestedSend):
        return Ending("failed", info_of(fault), fault)
    if isinstance(fault, FerruleError):
        return Ending("failed", info_of(fault))
    text = f"a part of this agent broke: {clean(Broke(fault).told)}"
    return Ending("failed", ErrorInfo(code="turn.internal", message=text, hint="`ferrule logs` shows where"))


def guarded_error(guard: Guard, error: ErrorInfo | None) -> ErrorInfo | None:
    """Mask secrets that a vendor, a hook or a store has put into its words."""
    if error is None:
        return None
    return replace(error, message=guard.clean(error.message), hint=error.hint and guard.clean(error.hint))
