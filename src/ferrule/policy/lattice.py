"""A child has at most what its parent has, on every axis of a policy.

The axes are the fields of `AgentPolicy`: a field without an order here makes
`is_within` fail, so a new rule cannot be forgotten. The fields that bound the
file system are one axis together, ordered by what may be done at each place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields

from .agent_policy import AgentPolicy, Rights, Root
from .paths import is_reserved, standing_of

_LEVELS = ("read_only", "supervised", "full")

Order = Callable[[AgentPolicy, AgentPolicy], bool]
"""Tells whether the first policy has, on one axis, at most what the second has."""


def _by_level(child: AgentPolicy, parent: AgentPolicy) -> bool:
    return _LEVELS.index(child.level) <= _LEVELS.index(parent.level)


def _by_place(child: AgentPolicy, parent: AgentPolicy) -> bool:
    """Compare what may be done everywhere: between two rules nothing changes, so the places of the rules are enough."""
    return all(_rights(place, child) <= _rights(place, parent) for place in _places((child, parent)))


def _by_commands(child: AgentPolicy, parent: AgentPolicy) -> bool:
    return child.allowed_commands <= parent.allowed_commands


def _by_approvers(child: AgentPolicy, parent: AgentPolicy) -> bool:
    return set(child.approvers) <= set(parent.approvers)


def _by_show(child: AgentPolicy, parent: AgentPolicy) -> bool:
    return set(parent.show) <= set(child.show)


def _by_capabilities(child: AgentPolicy, parent: AgentPolicy) -> bool:
    return child.capabilities.is_within(parent.capabilities)


ORDERS: dict[str, Order] = {
    "level": _by_level,
    "workspace": _by_place,
    "roots": _by_place,
    "forbidden": _by_place,
    "unrestricted": _by_place,
    "allowed_commands": _by_commands,
    "approvers": _by_approvers,
    "show": _by_show,
    "capabilities": _by_capabilities,
}
"""How each field of a policy is ordered."""


def wider_axes(child: AgentPolicy, parent: AgentPolicy) -> list[str]:
    """Name the fields by which a child has more than its parent; none when it is within.

    Raises:
        KeyError: a field of the policy has no order.
    """
    orders = {field.name: ORDERS[field.name] for field in fields(AgentPolicy)}
    holds = {order: order(child, parent) for order in set(orders.values())}
    return [name for name, order in orders.items() if not holds[order]]


def is_within(child: AgentPolicy, parent: AgentPolicy) -> bool:
    """Tell whether a child has at most what its parent has.

    Raises:
        KeyError: a field of the policy has no order.
    """
    return not wider_axes(child, parent)


def narrowed(parent: AgentPolicy, wanted: AgentPolicy) -> AgentPolicy:
    """Return the policy of a child: what it wants, cut down to what its parent has, on every axis.

    It works in the folder it wants to, and may do nothing there that its
    parent may not. Delegation grants of the parent are its ceiling.
    """
    roots, forbidden = _common_places(parent, wanted)
    return AgentPolicy(
        level=min(parent.level, wanted.level, key=_LEVELS.index),
        workspace=wanted.workspace,
        roots=roots,
        forbidden=forbidden,
        unrestricted=parent.unrestricted and wanted.unrestricted,
        allowed_commands=parent.allowed_commands & wanted.allowed_commands,
        approvers=tuple(one for one in wanted.approvers if one in parent.approvers),
        show=tuple(dict.fromkeys((*parent.show, *wanted.show))),
        capabilities=parent.capabilities.for_child(wanted.capabilities),
    )


def _common_places(one: AgentPolicy, two: AgentPolicy) -> tuple[tuple[Root, ...], tuple[str, ...]]:
    """Return the roots and prefixes under which exactly that may be done which both may do."""
    roots: list[Root] = []
    forbidden: list[str] = []
    for place in _places((one, two)):
        rights = _rights(place, one) & _rights(place, two)
        if not rights:
            forbidden.append(place)
        elif place != "/" or len(rights) < 2 or not (one.unrestricted and two.unrestricted):
            roots.append(Root(place, _named(rights)))
    return tuple(roots), tuple(forbidden)


def _places(policies: Iterable[AgentPolicy]) -> list[str]:
    """Return every place where a rule begins, and the root of the file system for what no rule names."""
    return sorted({"/"}.union(*((*(root.path for root in policy.roots), *policy.forbidden) for policy in policies)))


def _rights(place: str, policy: AgentPolicy) -> frozenset[str]:
    standing = standing_of(place, policy)
    rights = (("read", standing.can_read), ("write", standing.can_write and not is_reserved(place, standing)))
    return frozenset(right for right, may in rights if may)


def _named(rights: frozenset[str]) -> Rights:
    if len(rights) == 2:
        return "read_write"
    return "read" if "read" in rights else "write"
