"""What one table says about another: an agent's provider, memory, profiles, siblings and tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..ports.adapter import Kind
from .document import Document
from .problems import Path, Problem, nearest
from .root import BUILT_IN_RISK, DEFAULT
from .shape import Adapters


def with_built_in(data: Mapping[str, object]) -> dict[str, object]:
    """Add the agent and the profiles that exist without a table; a broken table is left for others to judge."""
    full = dict(data)
    for root, names in (("agents", (DEFAULT,)), ("runtime_profiles", (DEFAULT,)), ("risk_profiles", BUILT_IN_RISK)):
        table = full.get(root, {})
        if isinstance(table, Mapping):
            full[root] = {**{name: {} for name in names}, **table}
    risk = full["risk_profiles"]
    if isinstance(risk, dict):
        for level in BUILT_IN_RISK:
            if isinstance(risk[level], Mapping):
                risk[level] = {"level": level, **risk[level]}
    return full


def check(document: Document, adapters: Adapters) -> list[Problem]:
    """List references that lead nowhere; `document` has the built-in tables."""
    return [
        *_profiles(document),
        *_levels(document),
        *_adapters(document, adapters),
        *_tools(document, adapters),
        *_patterns(document),
    ]


def configured(document: Document, kind: Kind) -> list[str]:
    """List the ``<adapter>.<alias>`` that have a table, in the order of the file."""
    return [
        f"{adapter}.{alias}" for adapter, tables in names(document.data.get(kind)).items() for alias in names(tables)
    ]


def adapters_named(document: Document, kind: Kind) -> list[str]:
    """List the adapters that tables or references name, whether or not they exist."""
    found = dict.fromkeys(names(document.data.get(kind)))
    for agent in names(document.data.get("agents")).values():
        reference = names(agent).get(FIELDS[kind])
        if isinstance(reference, str) and "." in reference:
            found[reference.partition(".")[0]] = None
    return list(found)


FIELDS: dict[Kind, str] = {"providers": "provider", "memory": "memory"}
"""The key of an agent that refers to a kind of part."""


def names(value: object) -> Mapping[str, object]:
    """Return a table, or an empty one where something else stands."""
    return value if isinstance(value, Mapping) else {}


def _agents(document: Document) -> Iterator[tuple[Path, Mapping[str, object]]]:
    for alias, table in names(document.data.get("agents")).items():
        yield ("agents", alias), names(table)


def _profiles(document: Document) -> Iterator[Problem]:
    for path, agent in _agents(document):
        for key, root in (("risk_profile", "risk_profiles"), ("runtime_profile", "runtime_profiles")):
            known = names(document.data.get(root))
            name = agent.get(key)
            if isinstance(name, str) and name not in known:
                yield document.problem((*path, key), f"there is no [{root}.{name}]", nearest(name, known))
        siblings = names(document.data.get("agents"))
        for sibling in names(names(agent.get("workspace")).get("access")):
            at = (*path, "workspace", "access", sibling)
            if sibling == path[1]:
                yield document.problem(at, "an agent's own workspace needs no entry")
            elif sibling not in siblings:
                yield document.problem(at, f"there is no agent {sibling!r}", nearest(sibling, siblings))


def _levels(document: Document) -> Iterator[Problem]:
    risk = names(document.data.get("risk_profiles"))
    for level in BUILT_IN_RISK:
        found = names(risk.get(level)).get("level")
        if found != level and found in BUILT_IN_RISK:
            cause = f"the profile {level!r} cannot have the level {found!r}"
            yield document.problem(("risk_profiles", level, "level"), cause, "give the profile another name")


def _adapters(document: Document, adapters: Adapters) -> Iterator[Problem]:
    for kind, key in FIELDS.items():
        tables = configured(document, kind)
        for path, agent in _agents(document):
            reference = agent.get(key)
            if not isinstance(reference, str) or "." not in reference or reference in tables:
                continue
            adapter, _, alias = reference.partition(".")
            at = (*path, key)
            if adapters.settings_for(kind, adapter) is None:
                yield document.problem(at, f"there is no adapter {adapter!r}", nearest(adapter, adapters.names(kind)))
            elif alias != DEFAULT:
                yield document.problem(at, f"there is no [{kind}.{reference}]", nearest(reference, tables))
        if kind == "providers" and len(tables) > 1:
            yield from _undecided(document, tables)


def undecided(document: Document, alias: str, tables: list[str]) -> Problem:
    """Make the fault of an agent that does not say which of several providers answers."""
    hint = f'write provider = "{tables[0]}", for example'
    return document.problem(("agents", alias, "provider"), "names no provider, and there are several", hint)


def _undecided(document: Document, tables: list[str]) -> Iterator[Problem]:
    """With several providers every agent that the operator wrote says which; the unwritten one is asked when it runs."""
    for path, agent in _agents(document):
        if "provider" not in agent and path in document.lines:
            yield undecided(document, str(path[1]), tables)


def _tools(document: Document, adapters: Adapters) -> Iterator[Problem]:
    known = adapters.names("tools")
    for path, agent in _agents(document):
        wanted = agent.get("tools")
        for number, name in enumerate(wanted if isinstance(wanted, list) else ()):
            if known and isinstance(name, str) and name not in known:
                yield document.problem((*path, "tools", number), f"there is no tool {name!r}", nearest(name, known))


def _patterns(document: Document) -> Iterator[Problem]:
    """A pattern of paths begins in a folder that there is."""
    agents = names(document.data.get("agents"))
    lists: list[tuple[Path, object]] = [(("capabilities",), document.data.get("capabilities"))]
    lists += [((*path, "capabilities"), agent.get("capabilities")) for path, agent in _agents(document)]
    for path, entries in lists:
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            glob = names(entry).get("glob")
            name, colon, _ = glob.partition(":") if isinstance(glob, str) else ("", "", "")
            if not colon or name.startswith(("/", "~/")) or name in ("workspace", "cwd"):
                continue
            at = (*path, number, "glob")
            kind, _, alias = name.partition("/")
            if kind != "agent":
                yield document.problem(at, f"{name!r} names no folder", "one of workspace:, cwd:, agent/<alias>:")
            elif alias not in agents:
                yield document.problem(at, f"there is no agent {alias!r}", nearest(alias, agents))
