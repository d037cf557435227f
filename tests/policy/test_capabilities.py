"""Grants: a denial beats them, a grant closes its list, and lists are only ever intersected."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.policy.agent_policy import AgentPolicy, policy_of
from ferrule.policy.capabilities import UNKNOWN, CapabilitySet, Layer
from ferrule.policy.decide import decide
from ferrule.policy.families import grants_of_switches
from ferrule.policy.paths import judge_path
from ferrule.policy.show import ShowList
from ferrule.types.access import Access, AccessRequest, Action, Allow, Ask, Decision, Deny
from ferrule.types.capability import CapabilityKind, Grant

EXAMPLES: dict[CapabilityKind, tuple[Grant, str, str]] = {
    "file_read": (Grant(kind="file_read", patterns=("/w/src/**",)), "/w/src/a", "/w/b"),
    "file_write": (Grant(kind="file_write", patterns=("/w/*.md",)), "/w/a.md", "/w/src/a.md"),
    "shell": (Grant(kind="shell", patterns=("git", "l?")), "ls", "rm"),
    "network": (Grant(kind="network", patterns=("*.a.test",)), "x.a.test", "a.example"),
    "tool": (Grant(kind="tool", patterns=("file_*",)), "file_read", "shell"),
    "memory": (Grant(kind="memory", patterns=("notes",)), "notes", "notes2"),
    "delegate": (Grant(kind="delegate", patterns=("re*",)), "research", "writer"),
}


def of(*grants: Grant) -> CapabilitySet:
    return CapabilitySet((grants,))


def test_all_seven_kinds_are_shown_here() -> None:
    assert set(EXAMPLES) == set(get_args(CapabilityKind))


@pytest.mark.parametrize("kind", list(EXAMPLES))
def test_what_is_granted_is_allowed_and_nothing_else_and_a_denial_beats_it(kind: CapabilityKind) -> None:
    grant, inside, outside = EXAMPLES[kind]
    assert of(grant).ruling(kind, inside) == "granted"
    assert of(grant).ruling(kind, outside) == "missing"
    for other in EXAMPLES:
        if other != kind:
            assert of(grant).ruling(other, EXAMPLES[other][1]) == "missing"
    denial = replace(grant, effect="deny")
    for layers in (((grant, denial),), ((denial, grant),), ((grant,), (denial,)), ((denial,), (grant,))):
        assert CapabilitySet(layers).ruling(kind, inside) == "denied"
    assert of(denial).ruling(kind, inside) == "denied"
    assert of(denial).ruling(kind, outside) == "granted"
    assert CapabilitySet().ruling(kind, inside) == "granted"


def test_each_kind_has_its_question() -> None:
    every = CapabilitySet((tuple(grant for grant, _, _ in EXAMPLES.values()),))
    asks = {
        "file_read": every.allows_file_read,
        "file_write": every.allows_file_write,
        "shell": every.allows_shell,
        "network": every.allows_network,
        "tool": every.allows_tool,
        "memory": every.allows_memory,
        "delegate": every.allows_delegate,
    }
    for kind, (_, inside, outside) in EXAMPLES.items():
        assert (asks[kind](inside), asks[kind](outside)) == (True, False)


def test_a_grant_of_memory_or_delegation_without_a_pattern_is_one_of_all() -> None:
    assert of(Grant(kind="memory")).allows_memory("any")
    assert of(Grant(kind="delegate")).allows_delegate("any")
    assert not of(Grant(kind="tool")).allows_tool("any")
    assert not of(Grant(kind="memory", effect="deny")).allows_memory("any")
    assert of(Grant(kind="tool", effect="deny")).allows_tool("any")


@pytest.mark.parametrize(("kind", "everything"), [("shell", "*"), ("network", "*"), ("file_write", "/**")])
def test_what_cannot_be_told_needs_a_grant_of_everything_without_a_denial(
    kind: CapabilityKind, everything: str
) -> None:
    whole = Grant(kind=kind, patterns=(everything,))
    assert of(whole).ruling(kind, UNKNOWN) == "granted"
    assert of(Grant(kind=kind, patterns=("?*",))).ruling(kind, UNKNOWN) == "missing"
    assert of(whole, Grant(kind=kind, patterns=("x",), effect="deny")).ruling(kind, UNKNOWN) == "denied"


def test_a_denied_program_is_denied_by_any_path_and_a_granted_one_is_not_granted_by_any() -> None:
    assert not of(Grant(kind="shell", patterns=("rm",), effect="deny")).allows_shell("/bin/rm")
    assert not of(Grant(kind="shell", patterns=("git",))).allows_shell("./git")


def test_a_set_is_empty_without_a_grant_and_may_ever_tells_what_a_kind_can_get() -> None:
    read = Grant(kind="file_read", patterns=("/**",))
    assert of(replace(read, effect="deny")).is_empty
    assert not of(read).is_empty
    assert of(read).may_ever("file_read")
    assert not of(read).may_ever("shell")
    assert CapabilitySet().may_ever("shell")


def test_a_child_is_held_by_the_ceiling_of_its_parents_delegation() -> None:
    ceiling = (Grant(kind="tool", patterns=("file_read",)),)
    parent = of(Grant(kind="tool", patterns=("*",)), Grant(kind="delegate", ceiling=ceiling))
    child = parent.for_child(CapabilitySet())
    assert child.allows_tool("file_read")
    assert not child.allows_tool("shell")
    assert child.is_within(parent)
    assert not parent.is_within(child)
    refused = of(Grant(kind="tool", patterns=("*",)), Grant(kind="delegate", effect="deny", ceiling=ceiling))
    assert refused.ceiling() == CapabilitySet()
    free = of(Grant(kind="delegate"))
    assert free.ceiling() == CapabilitySet()
    assert free.for_child(CapabilitySet()) == free


def policy(*grants: Grant, **more: object) -> AgentPolicy:
    made = policy_of(level="full", workspace="/w", allowed_commands=("ls", "cat", "echo", "env", "rm"))
    return replace(made, capabilities=CapabilitySet((grants,) if grants else ()), **more)  # type: ignore[arg-type]  # tests name real fields


def judged(rules: AgentPolicy, tool: str, action: Action | None = None, target: str = "") -> Decision:
    accesses = () if action is None else (Access(action=action, target=target),)
    return decide(AccessRequest(tool=tool, accesses=accesses), rules)


TOOLS = Grant(kind="tool", patterns=("*",))
FILES: tuple[CapabilityKind, ...] = ("file_read", "file_write")
READ = Grant(kind="file_read", patterns=("/w/src/**",))


def test_a_tool_without_a_grant_does_not_run_even_if_it_touches_nothing() -> None:
    assert judged(policy(READ), "clock").rule == "grant.tool.missing"
    assert isinstance(judged(policy(READ, TOOLS), "clock"), Allow)
    denied = policy(Grant(kind="tool", patterns=("clo*",), effect="deny"))
    assert judged(denied, "clock").rule == "grant.tool.denied"
    assert isinstance(judged(denied, "other"), Allow)


def test_a_grant_of_a_tool_is_none_of_what_it_touches() -> None:
    rules = policy(TOOLS, READ)
    assert isinstance(judged(rules, "file_read", "files.read", "src/a"), Allow)
    assert judged(rules, "file_read", "files.read", "b").rule == "grant.file_read.missing"
    assert judged(rules, "file_write", "files.write", "src/a").rule == "grant.file_write.missing"
    assert judged(rules, "x", "network.connect", "a.test:443").rule == "grant.network.missing"
    assert judged(rules, "shell", "command.run", "ls").rule == "grant.shell.missing"
    assert judged(rules, "memory_store").rule == "grant.memory.missing"
    assert isinstance(judged(policy(TOOLS, Grant(kind="memory")), "memory_store"), Allow)


def test_no_grant_opens_what_folders_and_levels_refuse() -> None:
    everything = policy(TOOLS, *(Grant(kind=kind, patterns=("/**",)) for kind in FILES))
    assert judged(everything, "t", "files.read", "/etc/passwd").rule == "path.outside"
    assert isinstance(judged(replace(everything, level="read_only"), "t", "files.write", "a"), Deny)
    assert isinstance(judged(replace(everything, level="supervised"), "t", "files.write", "a"), Ask)


def test_the_path_is_judged_again_where_a_handle_opens_it() -> None:
    assert judge_path("/w/src/a", "files.read", policy(READ)) == Allow(rule="path.readable")
    assert judge_path("/w/b", "files.read", policy(READ)).rule == "grant.file_read.missing"
    assert judge_path("/dev/null", "files.read", policy(READ)) == Allow(rule="path.device")


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("ls", "command.risk.low"),
        ("ls | cat", "command.risk.low"),
        ("rm a", "grant.shell.missing"),
        ("ls; rm a", "grant.shell.missing"),
        ("./ls", "grant.shell.missing"),
        ("env ls", "grant.shell.missing"),
        ("$(which ls)", "grant.shell.missing"),
        ("eval ls", "grant.shell.missing"),
        ("for f in a; do ls; done", "grant.shell.missing"),
        ("", "grant.shell.missing"),
        ("ls " + "a" * 20_000, "command.too_long"),
    ],
)
def test_every_program_of_a_line_needs_its_grant(line: str, rule: str) -> None:
    read = Grant(kind="file_read", patterns=("/w/**",))
    rules = policy(TOOLS, read, Grant(kind="shell", patterns=("ls", "cat")))
    assert judged(rules, "shell", "command.run", line).rule == rule


def test_a_denied_program_is_denied_wherever_it_stands_and_where_nobody_can_tell() -> None:
    rules = policy(Grant(kind="shell", patterns=("rm",), effect="deny"))
    for line in ("rm a", "ls && /bin/rm a", "env rm a", "for f in a; do rm $f; done", "eval rm a"):
        assert judged(rules, "shell", "command.run", line).rule == "grant.shell.denied", line
    assert isinstance(judged(rules, "shell", "command.run", "ls"), Allow)


@pytest.mark.parametrize(
    ("target", "word"), [("x.a.test:443", Allow), ("a.example:443", Deny), ("[::1]:80", Deny), ("", Deny)]
)
def test_a_host_needs_its_grant(target: str, word: type[Decision]) -> None:
    rules = policy(TOOLS, Grant(kind="network", patterns=("*.a.test",)))
    assert isinstance(judged(rules, "t", "network.connect", target), word)
    one = policy(TOOLS, Grant(kind="network", patterns=("::1",)))
    assert isinstance(judged(one, "t", "network.connect", "[::1]:80"), Allow)


def test_what_is_not_shown_is_not_run() -> None:
    rules = policy(show=(ShowList(("file_*",)), ShowList(("file_edit",), is_deny=True)))
    assert isinstance(judged(rules, "file_read"), Allow)
    assert judged(rules, "file_edit").rule == judged(rules, "shell").rule == "show.tools"


def test_the_switches_grant_the_tools_of_their_families_and_those_named() -> None:
    rules = policy(*grants_of_switches({"files"}, ("dice", "shell", "dice")))
    assert isinstance(judged(rules, "file_write", "files.write", "a"), Allow)
    assert isinstance(judged(rules, "dice", "network.connect", "a.test:1"), Allow)
    for tool in ("shell", "memory_recall", "unknown"):
        assert judged(rules, tool).rule == "grant.tool.missing"
    assert judged(rules, "file_read", "command.run", "ls").rule == "grant.shell.missing"


targets = st.sampled_from(["a", "b", "/w/a", "/w/b", "a.test", UNKNOWN])
grants = st.builds(
    Grant,
    kind=st.sampled_from(get_args(CapabilityKind)),
    patterns=st.lists(st.sampled_from(["a", "*", "/w/*", "/**", "/w/a", "b"]), max_size=2).map(tuple),
    effect=st.sampled_from(["allow", "deny"]),
)
layers: st.SearchStrategy[Layer] = st.lists(grants, max_size=4).map(tuple)
sets = st.lists(layers, max_size=3).map(lambda found: CapabilitySet(tuple(found)))


@pytest.mark.property
@given(sets, sets, st.sampled_from(get_args(CapabilityKind)), targets)
def test_an_intersection_grants_exactly_what_both_grant(
    one: CapabilitySet, two: CapabilitySet, kind: CapabilityKind, target: str
) -> None:
    both = one.narrowed(two)
    rulings = {one.ruling(kind, target), two.ruling(kind, target)}
    expected = "denied" if "denied" in rulings else "missing" if "missing" in rulings else "granted"
    assert both.ruling(kind, target) == expected
    assert both.is_within(one)
    assert both.is_within(two)
    assert one.narrowed(one) == CapabilitySet(tuple(dict.fromkeys(one.layers)))
