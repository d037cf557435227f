"""A child has at most what its parent has, whatever it asks for."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from ferrule.policy.agent_policy import AgentPolicy, Root, policy_of
from ferrule.policy.capabilities import CapabilitySet
from ferrule.policy.lattice import ORDERS, is_within, narrowed, wider_axes
from ferrule.policy.show import ShowList
from ferrule.types.capability import Grant
from tests.policy._policies import faults_of_family, random_family

FAMILIES = 20_000
"""Random parents and children; the program ``benches.soak.lattice`` tries a million."""


def policy() -> AgentPolicy:
    made = policy_of(
        level="supervised",
        workspace="/w",
        roots=(Root("/s", "read"), Root("/d", "write")),
        forbidden=("/w/no",),
        allowed_commands=("ls",),
        approvers=("ann",),
    )
    return replace(made, show=(ShowList(("file_*",)),), capabilities=CapabilitySet(((Grant(kind="tool"),),)))


def test_every_field_of_a_policy_has_an_order_and_every_order_a_field() -> None:
    assert set(ORDERS) == {field.name for field in fields(AgentPolicy)}


def test_a_field_without_an_order_is_an_error_and_not_a_permission() -> None:
    order = ORDERS.pop("level")
    try:
        with pytest.raises(KeyError):
            is_within(policy(), policy())
    finally:
        ORDERS["level"] = order


@pytest.mark.parametrize(
    ("change", "axes"),
    [
        ({"level": "full"}, {"level"}),
        ({"roots": (*policy().roots, Root("/x", "read"))}, {"workspace", "roots", "forbidden", "unrestricted"}),
        ({"roots": (Root("/w", "read_write"), Root("/s", "read_write"))}, {"roots"}),
        ({"forbidden": ()}, {"forbidden"}),
        ({"unrestricted": True}, {"unrestricted"}),
        ({"allowed_commands": frozenset({"ls", "rm"})}, {"allowed_commands"}),
        ({"approvers": ("ann", "bob")}, {"approvers"}),
        ({"show": ()}, {"show"}),
        ({"capabilities": CapabilitySet()}, {"capabilities"}),
    ],
)
def test_more_on_one_axis_is_seen_and_less_is_not(change: dict[str, object], axes: set[str]) -> None:
    wider = replace(policy(), **change)  # type: ignore[arg-type]  # tests name real fields
    assert axes <= set(wider_axes(wider, policy()))
    assert is_within(policy(), policy())
    assert is_within(narrowed(policy(), wider), policy())
    assert is_within(narrowed(wider, policy()), wider)


def test_a_child_keeps_what_both_have() -> None:
    wanted = policy_of(
        level="full", workspace="/w/sub", roots=(Root("/s", "read_write"),), allowed_commands=("ls", "rm")
    )
    child = narrowed(policy(), wanted)
    assert child.level == "supervised"
    assert child.workspace == "/w/sub"
    assert Root("/w/sub", "read_write") in child.roots
    assert Root("/s", "read") in child.roots
    assert "/d" in child.forbidden
    assert child.allowed_commands == {"ls"}
    assert child.approvers == ()


def test_two_policies_without_a_boundary_make_one_without() -> None:
    free = replace(policy(), unrestricted=True)
    child = narrowed(free, free)
    assert child.unrestricted
    assert Root("/", "read_write") not in child.roots
    assert is_within(child, free)
    assert is_within(free, child)


@pytest.mark.property
def test_a_child_is_within_its_parent_and_what_is_allowed_lies_inside_a_grant() -> None:
    faults = {seed: found for seed in range(FAMILIES) if (found := faults_of_family(random_family(seed)))}
    assert faults == {}
