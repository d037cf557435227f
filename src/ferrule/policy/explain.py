"""Why a call is allowed, asked about or refused: the same decision, with the rules it went through.

Nothing here decides. The decision is `decide`'s own; the steps are the
answers of the parts that it asks, in its order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..types.access import Access, AccessRequest, Allow, Ask, Decision
from ..types.capability import CapabilityKind
from .admission import DEFAULT_NAMESPACE
from .agent_policy import AgentPolicy
from .capabilities import UNKNOWN
from .commands.lines import judged_line
from .commands.parse import parsed
from .commands.tree import LONGEST
from .decide import decide, judge_access
from .families import FAMILIES
from .paths import DEVICES, absolute, judge_path, standing_of
from .paths import LONGEST as LONGEST_PATH
from .show import EVERYTHING

Word = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One rule on the way.

    Attributes:
        about: What was judged: a tool, a path, a program, a host, or a whole effect.
        says: What the rule says about it by itself.
        rule: Its name.
        text: The same in words.
    """

    about: str
    says: Word
    rule: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A decision and the steps that led to it; the strictest step is the decision."""

    decision: Decision
    steps: tuple[Step, ...]

    @property
    def word(self) -> Word:
        """The decision as a word."""
        return word_of(self.decision)


def explain(request: AccessRequest, policy: AgentPolicy) -> Explained:
    """Decide, and tell why."""
    steps = [*_by_name(request.tool, policy)]
    for access in request.accesses:
        steps += _effect(access, policy)
    return Explained(decision=decide(request, policy), steps=tuple(steps))


def word_of(decision: Decision) -> Word:
    """Return a decision as a word."""
    if isinstance(decision, Allow):
        return "allow"
    return "ask" if isinstance(decision, Ask) else "deny"


def _by_name(tool: str, policy: AgentPolicy) -> Iterator[Step]:
    for shown in policy.show:
        says: Word = "allow" if shown.shows(tool) else "deny"
        names = ", ".join(shown.names) or "nothing"
        told = "every tool" if shown == EVERYTHING else f"{'all but' if shown.is_deny else 'only'} {names}"
        yield Step(about=tool, says=says, rule="show.tools", text=f"the agent is shown {told}")
    yield from _grants("tool", tool, tool, policy)
    if tool in FAMILIES["memory"]:
        yield from _grants("memory", DEFAULT_NAMESPACE, "memory", policy)


def _effect(access: Access, policy: AgentPolicy) -> Iterator[Step]:
    about = f"{access.action} {access.target}".rstrip()
    if access.action in ("files.read", "files.write") and access.target:
        yield from _path(access, policy)
    elif access.action == "command.run" and len(access.target) <= LONGEST:
        yield from _line(access, policy)
    elif access.action == "network.connect":
        host = access.target.rpartition(":")[0].strip("[]")
        yield from _grants("network", host or access.target, access.target or "the network", policy)
    yield _told(about, judge_access(access, policy))


def _path(access: Access, policy: AgentPolicy) -> Iterator[Step]:
    if "\0" in access.target or len(access.target) > LONGEST_PATH:
        return
    place = absolute(access.target, policy)
    if access.action == "files.read" and place in DEVICES:
        return
    is_write = access.action == "files.write"
    standing = standing_of(place, policy)
    may = standing.can_write if is_write else standing.can_read
    told = {
        "path.inside": f"it lies in {standing.prefix}",
        "path.forbidden": f"it lies in {standing.prefix}, which is kept from tools",
        "path.outside": "it lies in no folder of the agent",
        "path.unrestricted": "the agent has no boundary",
    }[standing.rule]
    yield Step(about=place, says="allow" if may else "deny", rule=standing.rule, text=told)
    yield from _grants("file_write" if is_write else "file_read", place, place, policy)


def _line(access: Access, policy: AgentPolicy) -> Iterator[Step]:
    line = judged_line(parsed(access.target), cwd=access.cwd, home=policy.workspace)
    for judged in line.programs:
        name = " ".join(judged.listed) or "a program that cannot be told"
        for program in judged.listed or (UNKNOWN,):
            yield from _grants("shell", program, program or name, policy)
        listed = all(program in policy.allowed_commands for program in judged.listed)
        text = f"{judged.reason} ({judged.risk} risk), {'listed' if listed else 'not listed'} in allowed_commands"
        may = judged.risk == "low" or (judged.risk == "medium" and policy.level == "full")
        yield Step(about=name, says="allow" if may and listed else "ask", rule=f"command.risk.{judged.risk}", text=text)
    for reason in line.unclear:
        yield Step(about=access.target, says="ask", rule="command.not_plain", text=reason)
    for place in line.places:
        found = judge_path(place.path, place.action, policy)
        if not isinstance(found, Ask) or found.rule == "path.runs_code":  # a write is asked about once, by its program
            yield _told(f"{place.action} {place.path}", found)


def _grants(kind: CapabilityKind, target: str, about: str, policy: AgentPolicy) -> Iterator[Step]:
    ruling = policy.capabilities.ruling(kind, target)
    if not policy.capabilities.layers:
        return
    told = {
        "granted": "granted",
        "denied": "a capability denies it",
        "missing": "no capability grants it",
    }[ruling]
    rule = f"grant.{kind}" if ruling == "granted" else f"grant.{kind}.{ruling}"
    yield Step(about=about, says="allow" if ruling == "granted" else "deny", rule=rule, text=told)


def _told(about: str, decision: Decision) -> Step:
    text = "allowed" if isinstance(decision, Allow) else decision.reason
    return Step(about=about, says=word_of(decision), rule=decision.rule, text=text)
