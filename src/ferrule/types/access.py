"""What a tool call would do to the world, and what the gate says about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, final

Action = Literal["files.read", "files.write", "command.run", "network.connect", "custom"]
"""`custom` is a tool that declares nothing about itself."""

Level = Literal["read_only", "supervised", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One effect that a call asks for.

    Attributes:
        action: The kind of effect.
        target: A path as the tool was given it, a command line, or ``host:port``; "" when not known before running.
        cwd: For commands: the directory asked for, as given; "" for the agent's own.
    """

    action: Action
    target: str = ""
    cwd: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRequest:
    """What the gate is asked: one call with its final arguments."""

    tool: str
    accesses: tuple[Access, ...]
    arguments: Mapping[str, object] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Allow:
    """The call may run; `rule` names what allowed it."""

    rule: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A person decides; `reason` is shown to them, `pattern` is what "always" would bind to ("" = no always)."""

    reason: str
    rule: str
    pattern: str = ""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Deny:
    """The call does not run; `reason` is shown to the model."""

    reason: str
    rule: str


Decision = Allow | Ask | Deny


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """A question to a person about one call.

    Attributes:
        id: The approval's id; single use.
        call_id: The call it is about.
        tool: The tool's name.
        arguments: The final arguments, as guarded for display.
        reason: Why the gate asks.
        digest: SHA-256 over tool, final arguments and policy revision: the answer binds to exactly this.
        preview: A diff or the full command line, for people.
        pattern: What "always" would bind to; "" when it is not offered.
        principals: Who may answer.
        expires_ms: When the question lapses, milliseconds since 1970.
        rule: The rule that asks, by its name.
    """

    id: str
    call_id: str
    tool: str
    arguments: Mapping[str, object]
    reason: str
    digest: str
    preview: str = ""
    pattern: str = ""
    principals: tuple[str, ...] = ()
    expires_ms: int = 0
    rule: str = ""


AnswerWord = Literal["allow", "deny", "edit", "always"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAnswer:
    """A person's answer; `source` tells a human no from nobody being there.

    Attributes:
        answer: What was decided.
        by: The principal who answered; "" when nobody did.
        source: person, nobody or timed_out.
        arguments: The edited arguments, with ``answer="edit"``; they are validated and judged anew.
        note: The person's words, shown to the model with a denial.
    """

    answer: AnswerWord
    by: str = ""
    source: Literal["person", "nobody", "timed_out"] = "person"
    arguments: Mapping[str, object] | None = None
    note: str = ""


NOBODY = ApprovalAnswer(answer="deny", source="nobody")
"""The answer when there is no one to ask."""
