"""Finds swappable parts by name, ours and those of installed packages, through the same door.

A part is listed without being imported; its file is imported only when the
config names it. An outside package offers its record under the entry-point
group ``ferrule.<kind>``. The record of a provider, memory or runtime is an
`Adapter`; a tool needs no settings, so the tool itself is its record.
"""

from __future__ import annotations

import importlib
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from ..ports.adapter import Adapter, Kind, SettingsLike
from ..ports.tool import Tool
from ..types.errors import ConfigError

BUILT_IN: dict[str, dict[str, str]] = {
    "providers": {
        "local": "ferrule.providers.local:ADAPTER",
        "ollama": "ferrule.providers.ollama:ADAPTER",
        "openai": "ferrule.providers.openai:ADAPTER",
    },
    "memory": {},
    "tools": {
        "content_search": "ferrule.tools.content_search:TOOL",
        "file_edit": "ferrule.tools.file_edit:TOOL",
        "file_read": "ferrule.tools.file_read:TOOL",
        "file_write": "ferrule.tools.file_write:TOOL",
        "glob_search": "ferrule.tools.glob_search:TOOL",
        "list_directory": "ferrule.tools.list_directory:TOOL",
        "memory_recall": "ferrule.tools.memory_recall:TOOL",
        "memory_store": "ferrule.tools.memory_store:TOOL",
        "shell": "ferrule.tools.shell:TOOL",
    },
}
"""Our own parts: kind, name, and where the record is."""

OF_MEMORY = frozenset({"memory_recall", "memory_store"})
"""Tools that only an agent with a memory is shown."""


def names(kind: Kind) -> list[str]:
    """List the parts of a kind that can be configured here, ours and outside ones, without importing any."""
    return sorted({*BUILT_IN.get(kind, {}), *_outside(kind)})


def find(kind: Kind, name: str) -> Adapter[Any, Any]:
    """Import and return one adapter's record.

    Raises:
        ConfigError: there is no such part, its package is broken, or its record does not fit its name.
    """
    record = _load(kind, name)
    if not isinstance(record, Adapter) or record.name != name or record.kind != kind:
        raise ConfigError(
            f"the record of {kind} {name!r} is not an Adapter of that kind and name",
            hint="tell the author of the package that provides it",
        )
    return record


def settings_for(kind: str, name: str) -> type[SettingsLike] | None:
    """Return the settings class of one part, or None when there is no such part."""
    if kind not in BUILT_IN or kind == "tools" or name not in names(_kind(kind)):
        return None
    return find(_kind(kind), name).settings


def tool(name: str) -> Tool:
    """Import and return one tool.

    Raises:
        ConfigError: there is no such tool, or its package is broken.
    """
    record = _load("tools", name)
    if not isinstance(record, Tool) or record.name != name:
        raise ConfigError(
            f"the record of tool {name!r} is not a tool of that name",
            hint="tell the author of the package that provides it",
        )
    return record


def _kind(text: str) -> Kind:
    kinds: dict[str, Kind] = {
        "providers": "providers",
        "memory": "memory",
        "tools": "tools",
    }
    return kinds[text]


def _outside(kind: Kind) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=f"ferrule.{kind}")}


def _load(kind: Kind, name: str) -> object:
    target = BUILT_IN.get(kind, {}).get(name)
    if target is not None:
        module, _, attribute = target.partition(":")
        return getattr(importlib.import_module(module), attribute)
    point = _outside(kind).get(name)
    if point is None:
        known = ", ".join(names(kind)) or "none"
        raise ConfigError(f"there is no {kind} part called {name!r}", hint=f"known here: {known}")
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"the package that provides {kind} {name!r} cannot be loaded: {error}",
            hint=f"reinstall it: {point.value}",
        ) from error
