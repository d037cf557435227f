"""The rules of an agent in words."""

from __future__ import annotations

from collections.abc import Iterable

from ...policy.agent_policy import AgentPolicy
from ...types.access import Level
from ...types.limits import Limits

LEVELS: dict[Level, tuple[str, ...]] = {
    "read_only": (
        "reads inside the folders below run; writes and commands are denied",
        "the network is asked about each time",
    ),
    "supervised": (
        "reads inside the folders below run; writes are asked about",
        "harmless forms of the allowed commands run; other commands are asked about",
        "the network is asked about each time",
    ),
    "full": (
        "reads and writes inside the folders below run; so does the network",
        "the allowed commands run; risky ones and all others are asked about",
    ),
}
RIGHTS = {"read": "read", "write": "write only", "read_write": "read and write"}


def policy_lines(policy: AgentPolicy, limits: Limits, *, label: str, always: Iterable[str]) -> list[str]:
    """Say what an agent may do.

    Args:
        policy: Its rules.
        limits: What one turn may use up.
        label: Level and fence, as every surface shows them.
        always: What was allowed for always and holds now.
    """
    lines = [f"level: {label}", *(f"  {rule}" for rule in LEVELS[policy.level])]
    lines.append(f"works in: {policy.workspace}")
    lines.append("folders: the whole file system" if policy.unrestricted else "folders: nothing outside of these")
    lines += [f"  {RIGHTS[root.rights]}: {root.path}" for root in policy.roots]
    lines += [f"  never, unless a folder above lies deeper: {path}" for path in policy.forbidden]
    lines.append(f"allowed commands: {', '.join(sorted(policy.allowed_commands)) or 'none'}")
    lines.append(f"allowed for always: {', '.join(always) or 'nothing'}")
    lines.append(f"may answer questions: {', '.join(policy.approvers) or 'nobody'}")
    return [*lines, *_limits(limits)]


def _limits(limits: Limits) -> list[str]:
    seconds = None if limits.wall_time_s is None else int(limits.wall_time_s)
    return [
        "limits of a turn:",
        f"  model requests: {_number(limits.rounds)}",
        f"  tool calls: {_number(limits.tool_calls)}, {limits.parallel_tools} at a time",
        f"  tokens: {_number(limits.tokens)}",
        f"  seconds: {_number(seconds)}, waiting for you not counted",
    ]


def _number(limit: int | None) -> str:
    return "unlimited" if limit is None else f"{limit:,}"
