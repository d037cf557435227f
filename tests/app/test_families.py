"""Every built-in tool is in exactly one family of switches."""

from __future__ import annotations

from collections import Counter

from ferrule.app.discovery import BUILT_IN, OF_MEMORY, tool
from ferrule.config.root import ToolSwitches
from ferrule.policy.capabilities import CapabilitySet
from ferrule.policy.families import FAMILIES, family_of, grants_of_switches
from ferrule.types.access import Action
from ferrule.types.capability import CapabilityKind

KINDS: dict[Action, CapabilityKind] = {
    "files.read": "file_read",
    "files.write": "file_write",
    "command.run": "shell",
    "network.connect": "network",
}


def test_every_built_in_tool_is_in_one_family_and_every_family_has_its_switch() -> None:
    counted = Counter(name for tools in FAMILIES.values() for name in tools)
    assert counted == Counter(BUILT_IN["tools"].keys())
    assert set(FAMILIES["memory"]) == OF_MEMORY
    assert set(FAMILIES) == set(ToolSwitches.model_fields)
    assert family_of("made_up") == ""


def test_a_family_grants_all_that_its_tools_declare_to_touch() -> None:
    for family, names in FAMILIES.items():
        own = CapabilitySet((grants_of_switches({family}),))
        for name in names:
            needs: frozenset[Action] = vars(type(tool(name)))["needs"]
            assert own.allows_tool(name)
            assert all(own.may_ever(KINDS[need]) for need in needs), name


def test_a_tool_in_no_family_is_granted_by_no_switch() -> None:
    assert not CapabilitySet((grants_of_switches(set(FAMILIES)),)).allows_tool("made_up")
