"""Whether a command may run, by level, list, risk and the paths it touches."""

from __future__ import annotations

from ..types.access import Access, Allow, Ask, Decision, Deny
from .agent_policy import AgentPolicy
from .commands.lines import MOST, MOST_PLACES, Line, judged_line
from .commands.parse import parsed
from .commands.tree import LONGEST
from .paths import FileAction, absolute, is_below, judge_path

_RISKS = ("low", "medium", "high")


def judge_command(access: Access, policy: AgentPolicy) -> Decision:
    """Judge one command line: a denial beats a question, and a question beats a permission."""
    if policy.level == "read_only":
        return Deny(reason="this agent may only read", rule="level.read_only.command")
    if len(access.target) > LONGEST:
        return Deny(reason=f"the line is longer than {LONGEST} characters", rule="command.too_long")
    if access.cwd:
        place = judge_path(access.cwd, "files.read", policy)
        if isinstance(place, Deny):
            return place
    line = judged_line(parsed(access.target), cwd=access.cwd, home=policy.workspace)
    if line.is_too_much:
        return Deny(
            reason=f"the line holds more than {MOST} programs or {MOST_PLACES} paths, or nests them too deep",
            rule="command.too_many",
        )
    return _denied(line, policy) or _asked(line, policy) or Allow(rule=f"command.risk.{_risk(line)}")


def _denied(line: Line, policy: AgentPolicy) -> Deny | None:
    """Return the denial of the first path that the line may not touch."""
    for place in line.places:
        found = judge_path(place.path, place.action, policy)
        if isinstance(found, Deny):
            return found
    return None


def _asked(line: Line, policy: AgentPolicy) -> Ask | None:
    """Return the question that comes first: what is least understood."""
    if line.unclear:
        return Ask(reason=f"only a shell can tell what it does: {'; '.join(line.unclear)}", rule="command.not_plain")
    risk = _risk(line)
    reasons = [judged.reason for judged in line.programs if judged.risk == risk]
    if risk == "high":
        return Ask(reason="; ".join(reasons), rule="command.risk.high")
    for place in line.places:
        if place.is_walked and (kept := kept_below(place.path, place.action, policy)):
            return Ask(reason=f"it goes through {place.path}, which holds {kept}", rule="command.walks")
    if risk == "medium" and not line.is_single:
        return Ask(reason=f"{'; '.join(reasons)}, and what follows may depend on it", rule="command.risk.medium")
    missing = [name for judged in line.programs for name in judged.listed if name not in policy.allowed_commands]
    if missing:
        names = ", ".join(dict.fromkeys(missing))
        reason = f"{names} {'is' if len(set(missing)) == 1 else 'are'} not in allowed_commands"
        return Ask(reason=reason, rule="command.not_listed", pattern=line.pattern)
    if risk == "medium" and policy.level == "supervised":
        return Ask(reason="; ".join(reasons), rule="command.risk.medium", pattern=line.pattern)
    return None


def _risk(line: Line) -> str:
    return max((judged.risk for judged in line.programs), key=_RISKS.index)


def kept_below(path: str, action: FileAction, policy: AgentPolicy) -> str:
    """Name something below a folder that the agent may not read, or not write; "" if there is nothing."""
    folder = absolute(path, policy)
    other = "write" if action == "files.read" else "read"
    narrow = [root.path for root in policy.roots if root.rights == other]
    return next((kept for kept in (*policy.forbidden, *narrow) if kept != folder and is_below(kept, folder)), "")
