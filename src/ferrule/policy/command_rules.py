"""Whether a command may run, by level, list and risk."""

from __future__ import annotations

from ..types.access import Access, Allow, Ask, Decision, Deny
from .agent_policy import AgentPolicy
from .commands.bare import NotBare, parse_bare
from .commands.risk import Judged, judge_program
from .paths import judge_path


def judge_command(access: Access, policy: AgentPolicy) -> Decision:
    """Judge one command line."""
    if policy.level == "read_only":
        return Deny(reason="this agent may only read", rule="level.read_only.command")
    if access.cwd:
        place = judge_path(access.cwd, "files.read", policy)
        if isinstance(place, Deny):
            return place
    bare = parse_bare(access.target)
    if isinstance(bare, NotBare):
        return Ask(reason=f"needs a shell: {bare.reason}", rule="command.not_bare")
    judged = judge_program(bare.argv)
    if (outside := _outside(judged, access.cwd, policy)) is not None:
        return outside
    if judged.risk == "high":
        return Ask(reason=judged.reason, rule="command.risk.high")
    pattern = f"command:{judged.shape}"
    if bare.argv[0] not in policy.allowed_commands:
        return Ask(reason=f"{bare.argv[0]} is not in allowed_commands", rule="command.not_listed", pattern=pattern)
    if judged.risk == "medium" and policy.level == "supervised":
        return Ask(reason=judged.reason, rule="command.risk.medium", pattern=pattern)
    return Allow(rule=f"command.risk.{judged.risk}")


def _outside(judged: Judged, cwd: str, policy: AgentPolicy) -> Deny | None:
    """Return the denial of the first path that the command may not touch."""
    for path in judged.paths:
        placed = path if path.startswith("/") or not cwd else f"{cwd}/{path}"
        for action in ("files.read", "files.write") if judged.risk == "medium" else ("files.read",):
            found = judge_path(placed, "files.write" if action == "files.write" else "files.read", policy)
            if isinstance(found, Deny):
                return found
    return None
