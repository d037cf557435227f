"""The tables of ``config.toml`` that the runtime itself reads; adapters own theirs.

A table or key exists from the change that reads it. Names that later versions
will read are listed in `NOT_YET`, so that the error can say so.
"""

from __future__ import annotations

import os
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from ..ports.adapter import Kind
from ..types.access import Level
from ..types.capability import Grant
from ..types.ids import is_alias
from ..types.limits import Limits

CLOSED = ConfigDict(extra="forbid", frozen=True, strict=True)

SCHEMA_VERSION = 1

ADAPTER_ROOTS: tuple[Kind, ...] = ("providers", "memory")
"""Roots with the grammar ``[root.<adapter>.<alias>]``."""

BUILT_IN_RISK: tuple[Level, ...] = ("read_only", "supervised", "full")
"""Risk profiles that exist without a table, each named like its level."""

DEFAULT = "default"
"""The agent and the runtime profile that exist without a table."""

NOT_YET = frozenset(
    {
        "channels",
        "mcp",
        "people",
        "runtime",
        "plugins",
        "skills",
        "sop",
        "schedules",
        "identity",
        "privacy",
        "cost",
        "gateway",
    }
)


def checked_alias(text: str) -> str:
    """Refuse a name that no environment variable could address."""
    if not is_alias(text):
        raise ValueError("a name is 1 to 63 characters of a-z, 0-9 and _, without a double underscore")
    return text


def checked_reference(text: str) -> str:
    """Refuse what is not ``<adapter>.<alias>``."""
    adapter, dot, alias = text.partition(".")
    if not dot:
        raise ValueError(f'a reference is "<adapter>.<alias>", for example "{adapter}.default"')
    if not is_alias(alias) or not adapter:
        raise ValueError('a reference is "<adapter>.<alias>", for example "openai.main"')
    return text


def checked_folder(text: str) -> str:
    """Refuse a path whose meaning depends on where the program was started."""
    if not text.startswith(("/", "~/")) or "\0" in text:
        raise ValueError('a folder is an absolute path or begins with "~/"')
    return text


Alias = Annotated[str, AfterValidator(checked_alias)]
Reference = Annotated[str, AfterValidator(checked_reference)]
Folder = Annotated[str, AfterValidator(checked_folder)]
Folders = Annotated[tuple[Folder, ...], Field(strict=False)]
Word = Annotated[str, StringConstraints(min_length=1)]
Words = Annotated[tuple[Word, ...], Field(strict=False)]  # TOML has arrays, we keep tuples
Count = Annotated[int, Field(ge=1)]
Unlimited = Literal["unlimited"]


class Capability(BaseModel):
    """``[[capabilities]]`` and ``[[agents.<alias>.capabilities]]``: one grant, or one denial."""

    model_config = CLOSED

    type: Annotated[
        Literal["tool", "file_read", "file_write", "shell", "network", "memory"], Field(description="What it is about.")
    ]
    effect: Annotated[Literal["allow", "deny"], Field(description="A denial beats every grant.")] = "allow"
    name: Annotated[Word | None, Field(description="For tool: its name, or a glob of names.")] = None
    glob: Annotated[Word | None, Field(description="For file_read and file_write: a glob of paths.")] = None
    commands: Annotated[Words, Field(description="For shell: programs, as they are called.")] = ()
    domains: Annotated[Words, Field(description="For network: hosts; *.example.com is every host below it.")] = ()

    @model_validator(mode="after")
    def _names_what_it_is_about(self) -> Capability:
        given = {"name": self.name, "glob": self.glob, "commands": self.commands, "domains": self.domains}
        wanted = _TARGETS.get(self.type)
        if wanted is not None and not given[wanted]:
            raise ValueError(f"a capability of the type {self.type} needs {wanted!r}")
        odd = [key for key, value in given.items() if value and key != wanted]
        if odd:
            raise ValueError(f"a capability of the type {self.type} takes no {odd[0]!r}")
        return self

    def grant(self) -> Grant:
        """Say the same in the policy's own words; a path below ``~/`` becomes absolute."""
        one = self.name or self.glob
        patterns = (os.path.expanduser(one),) if one else (*self.commands, *self.domains)
        return Grant(kind=self.type, patterns=patterns, effect=self.effect)


_TARGETS = {"tool": "name", "file_read": "glob", "file_write": "glob", "shell": "commands", "network": "domains"}


Capabilities = Annotated[tuple[Capability, ...], Field(strict=False)]


class ShowDeny(BaseModel):
    """``tools = { deny = [...] }``: everything but these."""

    model_config = CLOSED

    deny: Annotated[Words, Field(description="Names or globs of what is hidden.")]


class Show(BaseModel):
    """``[agents.<alias>.show]``: what the agent sees; with the table, what is absent is hidden."""

    model_config = CLOSED

    tools: Annotated[Words | ShowDeny, Field(description="Names or globs of tools.")] = ()


class ToolSwitches(BaseModel):
    """``[security.tools]``: families of built-in tools, for a config without capabilities."""

    model_config = CLOSED

    files: Annotated[bool, Field(description="Read, write and search files.")] = True
    memory: Annotated[bool, Field(description="Remember and recall.")] = True
    shell: Annotated[bool, Field(description="Run commands.")] = True


class Security(BaseModel):
    """``[security]``."""

    model_config = CLOSED

    tools: ToolSwitches = ToolSwitches()


class Workspace(BaseModel):
    """``[agents.<alias>.workspace]``."""

    model_config = CLOSED

    path: Annotated[
        Folder | None,
        Field(description="Folder the agent works in; its own folder below the home when absent."),
    ] = None
    access: Annotated[
        dict[Alias, Literal["read", "write", "read_write"]],
        Field(description="Workspaces of sibling agents it may use."),
    ] = {}
    unrestricted_filesystem: Annotated[
        bool, Field(description="Lift the boundary of the workspace; forbidden paths stay forbidden.")
    ] = False


class Agent(BaseModel):
    """``[agents.<alias>]``."""

    model_config = CLOSED

    provider: Annotated[
        Reference | None,
        Field(description="Model API, as <adapter>.<alias>; the only one there is when absent."),
    ] = None
    risk_profile: Annotated[Alias, Field(description="Name of a risk profile.")] = "supervised"
    runtime_profile: Annotated[Alias, Field(description="Name of a runtime profile.")] = DEFAULT
    instructions: Annotated[str, Field(description="System message.")] = ""
    memory: Annotated[
        Reference | None, Field(description="Memory store, as <adapter>.<alias>; it has none when absent.")
    ] = None
    tools: Annotated[Literal["all"] | Words, Field(description="Tools it is shown; all built-in ones.")] = "all"
    workspace: Workspace = Workspace()
    show: Annotated[Show | None, Field(description="What of its tools it sees; all when absent.")] = None
    capabilities: Annotated[
        Capabilities, Field(description="Grants and denials beside those of all agents; both must allow.")
    ] = ()


class RiskProfile(BaseModel):
    """``[risk_profiles.<name>]``."""

    model_config = CLOSED

    level: Annotated[Level, Field(description="How much runs without asking.")]
    allowed_commands: Annotated[Words, Field(description="Programs whose harmless forms run.")] = ()
    forbidden_paths: Annotated[
        Folders, Field(description="Files and folders no tool touches, unless a deeper folder is given.")
    ] = ()
    approvers: Annotated[Words, Field(description="Principals who may answer an approval.")] = ("operator",)


class RuntimeProfile(BaseModel):
    """``[runtime_profiles.<name>]``: what one turn may use up."""

    model_config = CLOSED

    max_rounds: Annotated[Count | Unlimited, Field(description="Model requests in a turn.")] = 25
    max_tool_calls: Annotated[Count | Unlimited, Field(description="Tool calls in a turn.")] = 200
    max_tokens: Annotated[Count | Unlimited, Field(description="Tokens in a turn, both directions.")] = 2_000_000
    max_cost_micro_usd: Annotated[Count | Unlimited, Field(description="Money in a turn.")] = 1_000_000
    turn_timeout_s: Annotated[
        Annotated[float, Field(gt=0, allow_inf_nan=False)] | Unlimited,
        Field(description="Seconds a turn may take, waiting for people not counted."),
    ] = 600.0
    parallel_tools: Annotated[int, Field(ge=1, le=64, description="Calls of one round that run at the same time.")] = 4
    single_tool_rounds: Annotated[
        bool, Field(description="Take at most one call from a response; more of them fail the turn before any runs.")
    ] = False

    def limits(self) -> Limits:
        """Say the same in the runtime's own words."""
        return Limits(
            rounds=_count(self.max_rounds),
            tool_calls=_count(self.max_tool_calls),
            tokens=_count(self.max_tokens),
            cost_micro_usd=_count(self.max_cost_micro_usd),
            wall_time_s=None if self.turn_timeout_s == "unlimited" else self.turn_timeout_s,
            parallel_tools=self.parallel_tools,
        )


class Observability(BaseModel):
    """``[observability]``."""

    model_config = CLOSED

    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Field(description="Least important line that is kept.")
    ] = "info"
    log_max_bytes: Annotated[int, Field(ge=4_096, description="Bytes of one log file; three older ones are kept.")] = (
        10_000_000
    )


class Root(BaseModel):
    """The whole file without the adapters' tables."""

    model_config = CLOSED

    schema_version: Annotated[int, Field(ge=1, le=SCHEMA_VERSION, description="Version of this grammar.")] = (
        SCHEMA_VERSION
    )
    agents: dict[Alias, Agent] = {}
    risk_profiles: dict[Alias, RiskProfile] = {}
    runtime_profiles: dict[Alias, RuntimeProfile] = {}
    observability: Observability = Observability()
    capabilities: Annotated[
        Capabilities, Field(description="Grants and denials for all agents; with a grant, nothing else is allowed.")
    ] = ()
    security: Security = Security()


def _count(value: int | Unlimited) -> int | None:
    return None if value == "unlimited" else value
