"""Opens an agent of the config: provider, gate, session, log. One readable function."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from ..core.agent import Agent
from ..core.guard import SecretGuard
from ..core.options import AgentOptions
from ..core.system_clock import RandomIds, SystemClock
from ..core.toolset import Toolbox
from ..policy.admission import refused_by_name
from ..ports.adapter import Parts
from ..ports.dialer import Dialer
from ..ports.gate import Approver
from ..ports.guard import Guard
from ..ports.memory import MemoryStore
from ..ports.session import Session, SessionKey
from ..ports.tool import Tool
from ..sandbox.dialer import HttpDialer
from ..storage.sessions import SqliteSessions, open_sessions
from ..telemetry.log import start_logging
from ..types.codec import clean_value
from ..types.errors import ConfigError
from ..types.limits import Limits
from ..types.tools import ToolCall
from . import discovery
from .always import always_of
from .desk import AnyProvider, Desk, key_of, refuse_another_agents
from .first_provider import FirstProvider, first_model, first_provider
from .gate import Gate
from .home import Home
from .this_run import ThisRun, moved, tightened, with_model

log = logging.getLogger(__name__)

SHOWN_CHARS = 200
"""How much of the arguments of a call in doubt a person is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the person at the command line chose.

    Attributes:
        alias: Which agent.
        session_id: A session to go on in, or an unambiguous beginning of its id; "" starts a new one.
        fork: Go on in a copy of that session.
        folder: The folder the command was started in: the workspace, unless the agent's table names another.
        run: What was set for this run only.
    """

    alias: str = "default"
    session_id: str = ""
    fork: bool = False
    folder: str
    run: ThisRun = field(default_factory=ThisRun)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAgent:
    """An agent that is ready to talk; `desk` changes its session or its model."""

    desk: Desk
    alias: str
    gate: Gate
    limits: Limits
    tools: tuple[tuple[str, str], ...]
    toolbox: Toolbox
    guard: Guard

    @property
    def agent(self) -> Agent:
        """The agent in its present session, with its present model."""
        return self.desk.agent

    @property
    def provider(self) -> str:
        """Which provider answers."""
        return self.desk.provider.name

    @property
    def model(self) -> str:
        """Which of its models; "" when it names none."""
        return _said(self.desk.provider, "model")

    @property
    def note(self) -> str:
        """What else the provider says of itself."""
        return _said(self.desk.provider, "label")

    @property
    def session_id(self) -> str:
        """The session it talks in."""
        return self.agent.session.id

    @property
    def in_doubt(self) -> str:
        """One line about calls that a crash interrupted; "" when there are none."""
        calls = [self._shown(call) for call in self.agent.session.interrupted]
        return f"interrupted earlier, outcome unknown, not run again: {', '.join(calls)}" if calls else ""

    def _shown(self, call: ToolCall) -> str:
        text = self.guard.clean(orjson.dumps(clean_value(call.arguments)).decode())
        return f"{call.name} {text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + '…'}"

    def faults_of(self, tool: str, arguments: Mapping[str, object]) -> list[str]:
        """Return what is wrong with arguments, by the tool's schema."""
        bound = self.toolbox.current.tools.get(tool)
        return [f"there is no tool {tool!r}"] if bound is None else bound.faults(arguments)

    def describe(self) -> str:
        """Return one line that says who answers, where it works, and behind which gate."""
        label = f" ({self.note})" if self.note else ""
        return f"{self.alias}: {self.model or self.provider}{label}, {self.gate.label}, in {self.gate.policy.workspace}"


@asynccontextmanager
async def open_agent(home: Home, choices: Choices, *, approver: Approver | None) -> AsyncIterator[OpenAgent]:
    """Open one agent with everything it needs; leaving closes all of it, in reverse order.

    Raises:
        FerruleError: the config, the store, the provider or the session cannot be used; says how to fix it.
    """
    clock, ids = SystemClock(), RandomIds()
    alias, config = choices.alias, home.config
    home.layout.prepare()
    async with AsyncExitStack() as stack:
        found = first_provider(os.environ)
        guard = SecretGuard((*config.secrets, str(found.settings.get("api_key", ""))))
        observed = config.root.observability
        stop = start_logging(home.layout.log, observed.log_level, guard, max_bytes=observed.log_max_bytes)
        stack.callback(stop)
        dialer = HttpDialer()
        stack.push_async_callback(dialer.close)
        parts = Parts(name="", dialer=dialer, clock=clock, ids=ids, home=str(home.layout.home))
        provider = await _open_provider(home, choices, parts, stack)
        policy = moved(home.policy_of(alias, _started_in(choices)), choices.run, alias)
        _refuse_a_missing_workspace(policy.workspace, alias)
        kept = always_of(home, alias, policy, clock)
        gate = Gate.from_policy(policy, memory=await _open_memory(home, alias, parts, stack), kept=kept)
        tools = tools_of(home, alias)
        sessions = await stack.enter_async_context(open_sessions(home.layout.sessions, clock, ids))
        session = await _session(sessions, choices)
        options = AgentOptions(
            name=alias,
            instructions=config.agent(alias).instructions,
            limits=tightened(config.runtime_profile(alias).limits(), choices.run),
            single_tool_rounds=config.runtime_profile(alias).single_tool_rounds,
            approvers=policy.approvers,
            guard=guard,
            clock=clock,
            ids=ids,
        )

        def build(provider: AnyProvider, session: Session) -> Agent:
            return Agent(provider, gate=gate, tools=tools, approver=approver, session=session, options=options)

        async def another(model: str) -> AnyProvider:
            return await _open_provider(home, replace(choices, run=replace(choices.run, model=model)), parts, stack)

        desk = Desk(sessions, session, provider, build=build, open_provider=another, alias=alias)
        stack.push_async_callback(desk.close)
        log.info("opened %s: %s", alias, gate.label)
        yield OpenAgent(
            desk=desk,
            alias=alias,
            gate=gate,
            limits=options.limits,
            tools=summaries(tools),
            toolbox=Toolbox(tools, options.schemas),
            guard=guard,
        )


def _refuse_a_missing_workspace(folder: str, alias: str) -> None:
    if not os.path.isdir(folder):
        raise ConfigError(
            f"there is no folder {folder}, where {alias} works",
            hint=f"make it, or correct agents.{alias}.workspace.path",
            code="config.workspace",
        )


def tools_of(home: Home, alias: str) -> list[Tool]:
    """Return the tools that an agent is shown, in a stable order.

    Raises:
        ConfigError: one of them cannot be loaded.
    """
    agent = home.config.agent(alias)
    hidden = discovery.OF_MEMORY if agent.memory is None else frozenset()
    everything = sorted(discovery.BUILT_IN["tools"].keys() - hidden)
    chosen: Iterable[str] = everything if agent.tools == "all" else agent.tools
    policy = home.policy_of(alias, os.sep)  # names are judged alike wherever the agent works
    return [discovery.tool(name) for name in chosen if refused_by_name(name, policy) is None]


def summaries(tools: Iterable[Tool]) -> tuple[tuple[str, str], ...]:
    """Return the name and the first line of each tool."""
    return tuple((tool.name, (_said(tool, "description") or type(tool).__doc__ or "").split("\n")[0]) for tool in tools)


def _started_in(choices: Choices) -> str:
    """Return the workspace of an agent whose table names none; resolved, as the shell's own folder is."""
    return os.path.realpath(choices.run.folder) if choices.run.folder else choices.folder


async def _open_provider(home: Home, choices: Choices, parts: Parts, stack: AsyncExitStack) -> AnyProvider:
    """Open the agent's provider, or the one that the environment offers, or the demo model."""
    reference = home.provider_of(choices.alias)
    if reference is not None:
        adapter = discovery.find("providers", reference.partition(".")[0])
        settings: Any = home.config.settings("providers", reference)
        if choices.run.model:
            settings = adapter.settings.model_validate(with_model(dict(settings), adapter, choices.run))
        return await _enter(adapter, settings, _named(parts, reference), stack)
    found = first_provider(os.environ)
    adapter = discovery.find("providers", found.adapter)
    table = await _completed(replace(found, settings=with_model(found.settings, adapter, choices.run)), parts.dialer)
    name = f"{found.adapter}.{'demo' if found.kind == 'demo' else 'environment'}"
    return await _enter(adapter, adapter.settings.model_validate(table), _named(parts, name), stack)


async def _open_memory(home: Home, alias: str, parts: Parts, stack: AsyncExitStack) -> MemoryStore | None:
    """Open the agent's memory; None when it has none."""
    reference = home.config.agent(alias).memory
    if reference is None:
        return None
    adapter = discovery.find("memory", reference.partition(".")[0])
    settings: Any = home.config.settings("memory", reference)
    opened: MemoryStore = await stack.enter_async_context(adapter.open(settings, _named(parts, reference)))
    return opened


async def _completed(found: FirstProvider, dialer: Dialer) -> dict[str, object]:
    table = dict(found.settings)
    if found.kind == "environment" and "model" not in table:
        table["model"] = await first_model(found, dialer)
    return table


async def _enter(adapter: Any, settings: Any, parts: Parts, stack: AsyncExitStack) -> AnyProvider:
    opened: AnyProvider = await stack.enter_async_context(adapter.open(settings, parts))
    return opened


def _named(parts: Parts, name: str) -> Parts:
    return Parts(name=name, dialer=parts.dialer, clock=parts.clock, ids=parts.ids, home=parts.home)


async def _session(sessions: SqliteSessions, choices: Choices) -> Session:
    if not choices.session_id:
        return await sessions.open(SessionKey(agent=choices.alias))
    found = await sessions.find(choices.session_id)
    if choices.fork:
        found = await sessions.branch(found.id, agent=choices.alias)
    refuse_another_agents(found, choices.alias)
    return await sessions.open(key_of(found))


def _said(part: object, name: str) -> str:
    """Return a member that a part may lack, as text."""
    value: object = getattr(part, name, "")
    return value if isinstance(value, str) else ""
