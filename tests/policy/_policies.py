"""Random parents and children, and what must hold of them. Also used by the program that counts a million."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import get_args

from ferrule.policy.agent_policy import AgentPolicy, Rights, Root, policy_of
from ferrule.policy.capabilities import CapabilitySet
from ferrule.policy.decide import decide
from ferrule.policy.globs import matches_path
from ferrule.policy.lattice import is_within, narrowed
from ferrule.policy.paths import DEVICES, is_below
from ferrule.policy.show import ShowList
from ferrule.types.access import Access, AccessRequest, Action, Allow, Ask, Decision, Deny, Level
from ferrule.types.capability import CapabilityKind, Grant

STRICTNESS: dict[type[Decision], int] = {Allow: 0, Ask: 1, Deny: 2}
NAMES = ("a", "b", ".git", ".ferrule", "ab")
TOOLS = ("file_read", "file_write", "shell", "memory_store", "dice")
LINES = ("ls", "ls /a", "cat /a/b", "touch /b/a", "mv /a /b", "rm /a", "ls | cat", "eval x", "env ls", "echo x > /a/b")
PATTERNS = ("/**", "/a/**", "/a/*", "/b", "/**/b", "*", "ls", "file_*", "shell", "a.test", "*.test", "dice")


@dataclass(frozen=True, slots=True)
class Family:
    """A parent, what a child wanted, what it got, and questions to both."""

    parent: AgentPolicy
    wanted: AgentPolicy
    child: AgentPolicy
    requests: tuple[AccessRequest, ...]


def random_family(seed: int) -> Family:
    """Make one; the same seed makes the same."""
    dice = random.Random(seed)
    parent, wanted = _policy(dice), _policy(dice)
    if dice.random() < 0.3:  # often a child wants nearly what its parent has
        wanted = replace(parent, level=wanted.level, roots=(*parent.roots, *wanted.roots))
    requests = tuple(_request(dice) for _ in range(1))
    return Family(parent, wanted, narrowed(parent, wanted), requests)


def faults_of_family(family: Family) -> list[str]:
    """Say what does not hold; nothing when all does."""
    faults = [] if is_within(family.child, family.parent) else ["the child is not within its parent"]
    for request in family.requests:
        mine, parents = decide(request, family.child), decide(request, family.parent)
        wanted = decide(request, family.wanted)
        if STRICTNESS[type(mine)] < max(STRICTNESS[type(parents)], STRICTNESS[type(wanted)]):
            faults.append(f"{request}: the child gets {mine}, the parent {parents}, what it wanted {wanted}")
        for rules in (family.parent, family.child):
            if isinstance(decide(request, rules), Allow) and (why := _outside(request, rules)):
                faults.append(f"{request}: allowed, and {why}")
    return faults


def _outside(request: AccessRequest, rules: AgentPolicy) -> str:
    """Say by which plain reading of the rules an allowed call lies outside of them; written without their code."""
    for access in request.accesses:
        if access.action not in ("files.read", "files.write") or not access.target or access.target in DEVICES:
            continue
        if not rules.unrestricted and not any(is_below(access.target, root.path) for root in rules.roots):
            return "it lies in no folder of the agent"
        kind = "file_read" if access.action == "files.read" else "file_write"
        for layer in rules.capabilities.layers:
            mine = [grant for grant in layer if grant.kind == kind]
            covered = {
                effect
                for effect in ("allow", "deny")
                for grant in mine
                if grant.effect == effect and any(matches_path(pattern, access.target) for pattern in grant.patterns)
            }
            if "deny" in covered or (any(grant.effect == "allow" for grant in layer) and "allow" not in covered):
                return "no grant covers it"
    return ""


def _path(dice: random.Random) -> str:
    return "/" + "/".join(dice.choice(NAMES) for _ in range(dice.randint(0, 3)))


def _policy(dice: random.Random) -> AgentPolicy:
    made = policy_of(
        level=dice.choice(get_args(Level)),
        workspace=_path(dice),
        roots=[Root(_path(dice), dice.choice(get_args(Rights))) for _ in range(dice.randint(0, 3))],
        forbidden=[_path(dice) for _ in range(dice.randint(0, 2))],
        unrestricted=dice.random() < 0.3,
        allowed_commands=dice.sample(("ls", "cat", "touch", "mv", "env", "echo"), dice.randint(0, 6)),
        approvers=dice.sample(("ann", "bob"), dice.randint(0, 2)),
    )
    lists = tuple(
        ShowList(tuple(dice.sample(TOOLS, dice.randint(1, 5))), dice.random() < 0.5) for _ in range(dice.randint(0, 1))
    )
    layers = tuple(tuple(_grants(dice)) for _ in range(dice.randint(0, 2)))
    return replace(made, show=lists, capabilities=CapabilitySet(layers))


def _grants(dice: random.Random) -> list[Grant]:
    wide = [Grant(kind="tool", patterns=("*",)), Grant(kind="file_read", patterns=("/**",))]
    return [*(wide if dice.random() < 0.7 else ()), *(_grant(dice) for _ in range(dice.randint(0, 4)))]


def _grant(dice: random.Random) -> Grant:
    kind: CapabilityKind = dice.choice(get_args(CapabilityKind))
    ceiling = (
        (Grant(kind="tool", patterns=(dice.choice(TOOLS),)),) if kind == "delegate" and dice.random() < 0.5 else ()
    )
    return Grant(
        kind=kind,
        patterns=tuple(dice.sample(PATTERNS, dice.randint(0, 3))),
        effect="deny" if dice.random() < 0.25 else "allow",
        ceiling=ceiling,
    )


def _request(dice: random.Random) -> AccessRequest:
    action: Action = dice.choice(get_args(Action))
    target = {"command.run": dice.choice(LINES), "network.connect": "a.test:443", "custom": ""}.get(action, _path(dice))
    if dice.random() < 0.05:
        target = ""
    return AccessRequest(tool=dice.choice(TOOLS), accesses=(Access(action=action, target=target),))
