"""The one decision: may this call run?

Pure and total. Of several effects the strictest answer counts. The table of
levels is in the documentation, "Rules".
"""

from __future__ import annotations

from ..types.access import Access, AccessRequest, Allow, Ask, Decision, Deny
from .admission import refused_by_grants, refused_by_name
from .agent_policy import AgentPolicy
from .capabilities import UNKNOWN
from .command_rules import judge_command
from .commands.lines import judged_line
from .commands.parse import parsed
from .commands.tree import LONGEST as LONGEST_LINE
from .paths import judge_path


def decide(request: AccessRequest, policy: AgentPolicy) -> Decision:
    """Judge one call with its final arguments: its tool by name, then each thing it touches."""
    if (refused := refused_by_name(request.tool, policy)) is not None:
        return refused
    if not request.accesses:
        return Allow(rule="declares.nothing")
    decisions = [judge_access(access, policy) for access in request.accesses]
    for decision in decisions:
        if isinstance(decision, Deny):
            return decision
    asks = [decision for decision in decisions if isinstance(decision, Ask)]
    if len(asks) == 1:
        return asks[0]
    if asks:
        reasons = "; ".join(dict.fromkeys(ask.reason for ask in asks))
        return Ask(reason=reasons, rule=asks[0].rule)
    return decisions[0]


def judge_access(access: Access, policy: AgentPolicy) -> Decision:
    """Judge one effect."""
    if access.action in ("files.read", "files.write"):
        return _judge_file(access, policy)
    if access.action == "command.run":
        if (refused := refused_program(access, policy)) is not None:
            return refused
        if not access.target:
            if policy.level == "read_only":
                return Deny(reason="this agent may only read", rule="level.read_only.command")
            return Ask(reason="runs a command that is not known before", rule="command.unknown")
        return judge_command(access, policy)
    if access.action == "network.connect":
        if (refused := _refused_host(access.target, policy)) is not None:
            return refused
        if policy.level == "full":
            return Allow(rule="level.full.network")
        return Ask(reason=f"connects to {access.target or 'the network'}", rule=f"level.{policy.level}.network")
    return _by_level(policy, f"{access.target or 'this tool'} does not say what it touches", "custom")


def refused_program(access: Access, policy: AgentPolicy) -> Deny | None:
    """Return the denial of the first program of a line that no capability grants; None when all are granted.

    Of a line that only a shell could read nobody can tell which programs it
    runs, so it needs a grant of all of them.
    """
    if not policy.capabilities.layers or len(access.target) > LONGEST_LINE:  # the line itself is denied as too long
        return None
    line = judged_line(parsed(access.target), cwd=access.cwd, home=policy.workspace)
    named = [name for judged in line.programs for name in judged.listed]
    unknown = bool(line.unclear) or line.is_too_much or any(not judged.listed for judged in line.programs)
    for program in (*dict.fromkeys(named), *([UNKNOWN] if unknown else [])):
        told = program or "a line whose programs cannot be told"
        if (refused := refused_by_grants("shell", program, told, policy)) is not None:
            return refused
    return None


def _refused_host(target: str, policy: AgentPolicy) -> Deny | None:
    host = target.rpartition(":")[0] if ":" in target else target
    return refused_by_grants("network", host.strip("[]"), host or "an address not known before", policy)


def _judge_file(access: Access, policy: AgentPolicy) -> Decision:
    if access.target:
        return judge_path(access.target, "files.read" if access.action == "files.read" else "files.write", policy)
    if access.action == "files.read":
        return Allow(rule="path.by_handle")  # the handle judges each path as it is opened
    return _by_level(policy, "writes files", "write.unknown")


def _by_level(policy: AgentPolicy, reason: str, rule: str) -> Decision:
    """Deny, ask or allow what is only known by its kind."""
    if policy.level == "read_only":
        return Deny(reason="this agent may only read", rule=f"level.read_only.{rule}")
    if policy.level == "supervised":
        return Ask(reason=reason, rule=f"level.supervised.{rule}")
    return Allow(rule=f"level.full.{rule}")
