"""The explanation is the decision, with the rules it went through."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ferrule.policy.agent_policy import AgentPolicy, Root, policy_of
from ferrule.policy.capabilities import CapabilitySet
from ferrule.policy.decide import decide
from ferrule.policy.explain import Explained, explain
from ferrule.policy.show import ShowList
from ferrule.types.access import Access, AccessRequest, Action
from ferrule.types.capability import Grant
from tests.policy._policies import random_family

STRICT = ("allow", "ask", "deny")


def policy(*grants: Grant, show: tuple[ShowList, ...] = (), free: bool = False) -> AgentPolicy:
    made = policy_of(
        level="supervised",
        workspace="/w",
        roots=(Root("/s", "read"),),
        forbidden=("/w/no",),
        allowed_commands=("ls", "touch"),
        unrestricted=free,
    )
    return replace(made, show=show, capabilities=CapabilitySet((grants,) if grants else ()))


def of(action: Action, target: str, rules: AgentPolicy, tool: str = "t") -> Explained:
    return explain(AccessRequest(tool=tool, accesses=(Access(action=action, target=target),)), rules)


def rules_of(found: Explained) -> list[str]:
    return [f"{step.says} {step.rule}" for step in found.steps]


@pytest.mark.property
def test_the_strictest_step_is_the_decision() -> None:
    for seed in range(3_000):
        family = random_family(seed)
        for rules in (family.parent, family.child):
            for request in family.requests:
                found = explain(request, rules)
                assert found.decision == decide(request, rules)
                strictest = max((step.says for step in found.steps), key=STRICT.index, default="allow")
                assert strictest == found.word, (seed, request, found)


def test_a_path_is_explained_by_its_folder_its_grant_and_its_level() -> None:
    write = (Grant(kind="tool", patterns=("*",)), Grant(kind="file_write", patterns=("/w/**",)))
    assert rules_of(of("files.write", "a", policy(*write))) == [
        "allow grant.tool",
        "allow path.inside",
        "allow grant.file_write",
        "ask level.supervised.write",
    ]
    assert rules_of(of("files.read", "/s/a", policy())) == ["allow path.inside", "allow path.readable"]
    assert rules_of(of("files.read", "no/a", policy())) == ["deny path.forbidden", "deny path.forbidden"]
    assert rules_of(of("files.read", "/x", policy())) == ["deny path.outside", "deny path.outside"]
    assert rules_of(of("files.read", "/x", policy(free=True))) == ["allow path.unrestricted", "allow path.readable"]
    assert rules_of(of("files.read", "/dev/null", policy())) == ["allow path.device"]
    assert rules_of(of("files.read", "a\0", policy())) == ["deny path.invalid"]
    assert rules_of(of("files.write", "", policy())) == ["ask level.supervised.write.unknown"]


def test_a_line_is_explained_program_by_program() -> None:
    found = of("command.run", "ls; touch /s/a; rm x; for f in a; do ls; done", policy())
    assert [step.about for step in found.steps if step.rule.startswith("command.risk")] == ["ls", "touch", "rm", "ls"]
    assert ("deny", "files.write /s/a") in [(step.says, step.about) for step in found.steps]
    assert "ask command.not_plain" in rules_of(found)
    assert found.word == "deny"
    ls = (Grant(kind="tool", patterns=("*",)), Grant(kind="shell", patterns=("ls",)))
    assert "deny grant.shell.missing" in rules_of(of("command.run", "ls; rm x", policy(*ls)))
    assert "ask path.runs_code" in rules_of(of("command.run", "touch .git/config", policy()))
    assert rules_of(of("command.run", "x" * 20_000, policy())) == ["deny command.too_long"]


def test_names_and_hosts_are_explained() -> None:
    shown = policy(show=(ShowList(("file_*",)), ShowList(("shell",), is_deny=True)))
    assert rules_of(explain(AccessRequest(tool="shell", accesses=()), shown)) == ["deny show.tools", "deny show.tools"]
    net = (Grant(kind="tool", patterns=("*",)), Grant(kind="network", patterns=("a.test",)))
    assert rules_of(of("network.connect", "a.test:443", policy(*net)))[1] == "allow grant.network"
    assert rules_of(of("network.connect", "b.test:443", policy(*net)))[1] == "deny grant.network.missing"
    assert rules_of(of("custom", "", policy())) == ["ask level.supervised.custom"]
    denied = policy(Grant(kind="memory", effect="deny"))
    assert "deny grant.memory.denied" in rules_of(explain(AccessRequest(tool="memory_store", accesses=()), denied))
