"""How an agent runs; everything has a default, so embedding takes no configuration."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ports.clock import Clock, Ids
from ..ports.guard import Guard
from ..ports.schema_check import SchemaCompiler
from ..types.completion import ModelOptions
from ..types.limits import Limits
from ..types.provenance import Origin
from .schema_check import JsonSchemaCompiler
from .system_clock import RandomIds, SystemClock

# One of each for all agents: thousands of them are made, and those with the same tools share what is made of these.
_CLOCK, _IDS, _COMPILER = SystemClock(), RandomIds(), JsonSchemaCompiler()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """Settings of one agent.

    Attributes:
        name: Its alias.
        instructions: The system message; none when empty.
        model: Parameters of every request.
        limits: What one turn may use up.
        person: Whose turns these are; "" for the operator.
        audience: Who sees what is sent; "" is unknown and counts as public.
        principal: Who speaks, by stable id.
        origin: Where the messages come from.
        approvers: Principals who may answer an approval, beside `principal`.
        single_tool_rounds: Take at most one call from a response; more of them fail the turn before any runs.
        approval_timeout_s: Seconds until a question lapses and counts as a denial.
        attempts: How often a request is made when the vendor fails in a way that may pass.
        guard: Masks configured secrets; None masks nothing.
    """

    name: str = "default"
    instructions: str = ""
    model: ModelOptions = field(default_factory=ModelOptions)
    limits: Limits = field(default_factory=Limits)
    person: str = ""
    audience: str = ""
    principal: str = "operator"
    origin: Origin = "user"
    approvers: tuple[str, ...] = ("operator",)
    single_tool_rounds: bool = False
    approval_timeout_s: float = 300.0
    attempts: int = 3
    guard: Guard | None = None
    clock: Clock = _CLOCK
    ids: Ids = _IDS
    schemas: SchemaCompiler = _COMPILER
