"""Asking a person about one call."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeGuard

import orjson

from ..ports.gate import Approver
from ..types.access import NOBODY, ApprovalAnswer, ApprovalRequest
from ..types.codec import clean_value
from ..types.tools import ToolResult
from .foreign import Broke, ran

log = logging.getLogger(__name__)

TIMED_OUT = ApprovalAnswer(answer="deny", source="timed_out")


def digest_of(tool: str, arguments: Mapping[str, object], revision: str) -> str:
    """Return the SHA-256 that an answer binds to: tool, final arguments, policy revision."""
    facts = orjson.dumps([tool, clean_value(arguments), revision], option=orjson.OPT_SORT_KEYS, default=str)
    return hashlib.sha256(facts).hexdigest()


@dataclass(frozen=True, slots=True)
class Asking:
    """Who is asked, and for how long.

    Attributes:
        approver: The surface's way to a person; None when there is none.
        timeout_s: Seconds until the question lapses.
        principals: Who may answer.
    """

    approver: Approver | None
    timeout_s: float
    principals: tuple[str, ...]

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask, and accept only an answer of somebody who may give it."""
        if self.approver is None:
            return NOBODY
        answer: object = None
        deadline = asyncio.timeout(self.timeout_s)
        with suppress(TimeoutError):
            async with deadline:
                answer = await ran(self.approver.approve, request)
        if deadline.expired():  # also when the surface held on to the question and answers late
            return TIMED_OUT
        if not _is_answer(answer):
            # A surface that breaks, or says what means nothing here, has asked nobody; the call does not run.
            error = answer.error if isinstance(answer, Broke) else None
            log.error("the approver failed: it gave no answer but a %s", type(answer).__name__, exc_info=error)
            return NOBODY
        if answer.source == "person" and answer.by not in self.principals:
            return replace(answer, answer="deny")
        if answer.answer != "deny" and answer.source != "person":
            return NOBODY
        if answer.answer == "always" and not request.pattern:
            return ApprovalAnswer(answer="allow", by=answer.by)
        return answer

    def may_answer(self, answer: ApprovalAnswer) -> bool:
        """Tell whether an answer, if a person gave it, is of one who may give it."""
        return answer.source != "person" or answer.by in self.principals

    def who(self, answer: ApprovalAnswer) -> str:
        """Say that somebody answered who may not, and who may."""
        by = repr(answer.by) if answer.by else "somebody unnamed"
        return f"{by} may not answer this; {' or '.join(self.principals)} may"


def _is_answer(answer: object) -> TypeGuard[ApprovalAnswer]:
    """Tell whether a surface gave one of the four answers; an edit brings the arguments."""
    if not isinstance(answer, ApprovalAnswer) or answer.answer not in ("allow", "always", "edit", "deny"):
        return False
    return answer.answer != "edit" or isinstance(answer.arguments, Mapping)


def refusal(answer: ApprovalAnswer, reason: str) -> ToolResult:
    """Tell the model that it was not allowed, and by what: a person, silence, or nobody being there."""
    if answer.source == "nobody":
        return ToolResult.failed(
            "approval.nobody", f"Not done: this needs an approval ({reason}), and no approver is available here."
        )
    if answer.source == "timed_out":
        return ToolResult.failed("approval.timed_out", f"Not done: nobody answered in time ({reason}).")
    note = f" They said: {answer.note}" if answer.note else ""
    return ToolResult.failed("approval.denied", f"Not done: the person said no.{note}")
