"""The one decision: may this call run?

Pure and total. Of several effects the strictest answer counts. The table of
levels is in the documentation, "Rules".
"""

from __future__ import annotations

from ..types.access import Access, AccessRequest, Allow, Ask, Decision, Deny
from .agent_policy import AgentPolicy
from .command_rules import judge_command
from .paths import judge_path


def decide(request: AccessRequest, policy: AgentPolicy) -> Decision:
    """Judge one call with its final arguments."""
    if not request.accesses:
        return Allow(rule="declares.nothing")
    decisions = [_judge(access, policy) for access in request.accesses]
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


def _judge(access: Access, policy: AgentPolicy) -> Decision:
    if access.action in ("files.read", "files.write"):
        return _judge_file(access, policy)
    if access.action == "command.run":
        if not access.target:
            if policy.level == "read_only":
                return Deny(reason="this agent may only read", rule="level.read_only.command")
            return Ask(reason="runs a command that is not known before", rule="command.unknown")
        return judge_command(access, policy)
    if access.action == "network.connect":
        if policy.level == "full":
            return Allow(rule="level.full.network")
        return Ask(reason=f"connects to {access.target or 'the network'}", rule=f"level.{policy.level}.network")
    return _by_level(policy, f"{access.target or 'this tool'} does not say what it touches", "custom")


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
