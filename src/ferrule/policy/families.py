"""The families of built-in tools that `[security.tools]` switches, and the grants that each switch stands for.

The switches are a short way to write grants: nothing else reads them, and a
set made from them is judged like one that was written out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..types.capability import Grant

FAMILIES: dict[str, tuple[str, ...]] = {
    "files": ("content_search", "file_edit", "file_read", "file_write", "glob_search", "list_directory"),
    "memory": ("memory_recall", "memory_store"),
    "shell": ("shell",),
}
"""Every built-in tool is in exactly one family; one that is in none is refused, since no switch grants it."""

_EFFECTS: dict[str, tuple[Grant, ...]] = {
    "files": (Grant(kind="file_read", patterns=("/**",)), Grant(kind="file_write", patterns=("/**",))),
    "memory": (Grant(kind="memory"),),
    "shell": (Grant(kind="shell", patterns=("*",)),),
}

_OPEN = (Grant(kind="network", patterns=("*",)), Grant(kind="delegate"))
"""What the switches leave to other rules: where tools may connect to, and whom agents may ask."""


def family_of(tool: str) -> str:
    """Name the family of a tool; "" for one that is in none."""
    return next((family for family, tools in FAMILIES.items() if tool in tools), "")


def grants_of_switches(on: Collection[str], named: Iterable[str] = ()) -> tuple[Grant, ...]:
    """Say in grants what the switches say.

    Args:
        on: The families that are switched on.
        named: Further tools, of installed packages, that the operator gave to the agent by name.
    """
    families = [family for family in sorted(FAMILIES) if family in on]
    tools = [tool for family in families for tool in FAMILIES[family]]
    more = [tool for tool in dict.fromkeys(named) if not family_of(tool)]
    return (
        *(Grant(kind="tool", patterns=(tool,)) for tool in (*tools, *more)),
        *(grant for family in families for grant in _EFFECTS[family]),
        *_OPEN,
    )
