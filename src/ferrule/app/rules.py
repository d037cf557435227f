"""The rules of an agent in words and as data, for every surface that shows or explains them."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from ..config.law import law_input
from ..policy.admission import refused_by_name
from ..policy.agent_policy import AgentPolicy
from ..policy.explain import Explained, explain
from ..policy.families import FAMILIES
from ..policy.lattice import wider_axes
from ..policy.law import written_grants
from ..types.access import Access, AccessRequest, Action
from ..types.capability import Grant
from ..types.errors import UsageError
from . import discovery
from .home import Home

RIGHTS = {"read": "read", "write": "write only", "read_write": "read and write"}


def facts_of(policy: AgentPolicy) -> dict[str, Any]:
    """Return a policy as plain data, with its revision and what becomes of each built-in tool."""
    facts: dict[str, Any] = {field.name: _plain(policy, field.name) for field in fields(policy)}
    refused = {name: refused_by_name(name, policy) for name in sorted(discovery.BUILT_IN["tools"])}
    facts["tools"] = {name: "callable" if found is None else found.rule for name, found in refused.items()}
    return {**facts, "revision": policy.revision}


def lines_of(policy: AgentPolicy) -> list[str]:
    """Say what an agent may do, one rule a line."""
    lines = [f"level: {policy.level}", f"works in: {policy.workspace}"]
    lines.append("folders: the whole file system" if policy.unrestricted else "folders: nothing outside of these")
    lines += [f"  {RIGHTS[root.rights]}: {root.path}" for root in policy.roots]
    lines += [f"  never, unless a folder above lies deeper: {path}" for path in policy.forbidden]
    lines.append(f"allowed commands: {', '.join(sorted(policy.allowed_commands)) or 'none'}")
    lines.append(f"may answer questions: {', '.join(policy.approvers) or 'nobody'}")
    for shown in policy.show:
        lines.append(f"shown tools: {'all but ' if shown.is_deny else ''}{', '.join(shown.names) or 'none'}")
    for number, layer in enumerate(policy.capabilities.layers, 1):
        lines.append(f"capabilities, list {number}: all lists must agree")
        lines += [f"  {_grant(grant)}" for grant in layer]
    refused = [name for name in sorted(discovery.BUILT_IN["tools"]) if refused_by_name(name, policy)]
    return [*lines, f"refused by name: {', '.join(refused) or 'none'}", f"revision: {policy.revision}"]


def explained_lines(found: Explained) -> list[str]:
    """Say what was decided and why, one step a line."""
    steps = [f"  {step.says:<5}  {step.about}: {step.text} [{step.rule}]" for step in found.steps]
    return [f"{found.word} (rule {found.decision.rule})", *steps]


def explained_facts(found: Explained) -> dict[str, Any]:
    """Return the same as plain data."""
    return {"decision": found.word, "rule": found.decision.rule, "steps": [asdict(step) for step in found.steps]}


def explain_tool(policy: AgentPolicy, name: str) -> Explained:
    """Explain whether a tool may be called at all; what it touches is judged with its arguments."""
    return explain(AccessRequest(tool=name, accesses=()), policy)


def explain_effect(policy: AgentPolicy, action: Action, target: str, *, tool: str) -> Explained:
    """Explain what would become of one effect.

    Args:
        policy: The rules.
        action: The kind of effect.
        target: A path, a command line, or ``host:port``.
        tool: The tool that would have it.
    """
    return explain(AccessRequest(tool=tool, accesses=(Access(action=action, target=target),)), policy)


def difference(home: Home, first: str, second: str, folder: str) -> dict[str, Any]:
    """Compare the rules of two agents.

    Returns:
        `fields`: by name, what each has, where they differ. `first_within_second` and the other way round: whether one
        has at most what the other has; `wider`: on which fields the first has more.

    Raises:
        UsageError: one of them does not exist.
    """
    one, two = (home.policy_of(_known(home, alias), folder) for alias in (first, second))
    differing = {
        field.name: [_plain(one, field.name), _plain(two, field.name)]
        for field in fields(one)
        if _plain(one, field.name) != _plain(two, field.name)
    }
    return {
        "fields": differing,
        "first_within_second": not wider_axes(one, two),
        "second_within_first": not wider_axes(two, one),
        "wider": {first: wider_axes(one, two), second: wider_axes(two, one)},
    }


def migrated(home: Home) -> str:
    """Write out in ``[[capabilities]]`` what the switches stand for; "" when grants are in force already.

    An agent has the tools of its own list only, so granting all named ones to
    all agents opens nothing.
    """
    law = law_input(home.config, home.layout)
    if any(grant.effect == "allow" for grant in law.grants):
        return ""
    grants = dict.fromkeys(
        grant for alias in law.agents for grant in written_grants(law, alias) if grant.effect == "allow"
    )
    off = ", ".join(sorted(FAMILIES.keys() - law.families)) or "none"
    head = f"# What the switches of [security.tools] stand for (off: {off}). Take that table out.\n"
    return head + "".join(_table(grant) for grant in grants if grant.kind != "delegate")


def _known(home: Home, alias: str) -> str:
    if alias not in home.config.root.agents:
        known = ", ".join(sorted(home.config.root.agents))
        raise UsageError(f"there is no agent {alias!r}", hint=f"there are: {known}")
    return alias


def _plain(policy: AgentPolicy, name: str) -> Any:
    value: Any = asdict(policy)[name]
    if isinstance(value, frozenset):
        return sorted(value)
    return [list(layer) for layer in value["layers"]] if name == "capabilities" else value


def _grant(grant: Grant) -> str:
    return f"{grant.effect} {grant.kind} {', '.join(grant.patterns) or 'all'}"


_KEYS = {"tool": "name", "file_read": "glob", "file_write": "glob", "shell": "commands", "network": "domains"}


def _table(grant: Grant) -> str:
    key = _KEYS.get(grant.kind)
    if key is None:
        return f'\n[[capabilities]]\ntype = "{grant.kind}"\n'
    value = "[" + ", ".join(map(_text, grant.patterns)) + "]" if key.endswith("s") else _text(grant.patterns[0])
    return f'\n[[capabilities]]\ntype = "{grant.kind}"\n{key} = {value}\n'


def _text(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
