"""Reads the config and reports everything that is wrong with it, at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath

from pydantic import ValidationError

from ..ports.adapter import Kind, SettingsLike
from ..storage.private import readable_by_others
from ..storage.vault import Vault, vault_in
from ..types.errors import UsageError
from . import instances, overrides, references
from .document import Document, digest_of, parse, read_bytes
from .faults import faults_of
from .layout import Layout
from .migrate import migrated, version_of
from .problems import InvalidConfig, Problem, nearest
from .root import ADAPTER_ROOTS, Agent, RiskProfile, Root, RuntimeProfile
from .secret import Sources
from .shape import Adapters, Names, SettingsFor, Shape, no_names, shape_of

Instance = tuple[Kind, str]
"""Kind and ``<adapter>.<alias>``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A config without faults.

    Attributes:
        root: The runtime's own tables, with the agent and profiles that always exist.
        document: The same as plain data, with origins.
        shape: The grammar it was judged by.
        secrets: Every secret in plain text, and the keys of the vault, for the guard.
        warnings: What is allowed but unwise.
        digest: The version of the file that was read.
    """

    root: Root
    document: Document
    shape: Shape
    found: instances.Instances
    secrets: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    digest: str = ""

    def agent(self, alias: str) -> Agent:
        """Return an agent's table.

        Raises:
            UsageError: there is no such agent.
        """
        if alias not in self.root.agents:
            hint = f"{nearest(alias, self.root.agents)}; `ferrule agents list` shows them"
            raise UsageError(f"there is no agent {alias!r}", hint=hint)
        return self.root.agents[alias]

    def provider(self, alias: str) -> str | None:
        """Return the provider of an agent as ``<adapter>.<alias>``: its own, else the only one; None without any.

        Raises:
            UsageError: there is no such agent.
            InvalidConfig: it names none and there are several.
        """
        named = self.agent(alias).provider
        tables = references.configured(self.document, "providers")
        if named is None and len(tables) > 1:
            raise InvalidConfig([references.undecided(self.document, alias, tables)])
        return named or (tables[0] if tables else None)

    def risk_profile(self, alias: str) -> RiskProfile:
        """Return the risk profile of an agent."""
        return self.root.risk_profiles[self.agent(alias).risk_profile]

    def runtime_profile(self, alias: str) -> RuntimeProfile:
        """Return the runtime profile of an agent."""
        return self.root.runtime_profiles[self.agent(alias).runtime_profile]

    def settings(self, kind: Kind, name: str) -> SettingsLike:
        """Return the checked table of one ``<adapter>.<alias>``; ``.default`` needs no table.

        Raises:
            InvalidConfig: there is none, or a secret of it is not set.
        """
        missing = self.found.unset.get((kind, name))
        if missing:
            raise InvalidConfig(missing)
        if (kind, name) not in self.found.settings:
            hint = nearest(name, references.configured(self.document, kind))
            cause = f"there is no [{kind}.{name}]"
            raise InvalidConfig([Problem(where=self.document.file, key=kind, cause=cause, hint=hint)])
        return self.found.settings[(kind, name)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a config is read with.

    Attributes:
        adapters: Which adapters there are.
        environ: The environment: overrides and secrets.
        flags: Keys and values from the command line.
        agents: The agents about to run; their secrets must be set. None means all, () none.
        vault: Opens encrypted values; without one they stay closed.
    """

    adapters: Adapters
    environ: Mapping[str, str]
    flags: Mapping[str, str]
    agents: Collection[str] | None
    vault: Vault | None = None


def load(
    path: FilePath,
    *,
    settings_for: SettingsFor,
    environ: Mapping[str, str],
    names: Names = no_names,
    flags: Mapping[str, str] | None = None,
    agents: Collection[str] | None = None,
) -> Loaded:
    """Read the config; an absent file is one without tables. Its folder is the home, where the vault is.

    Args:
        path: The file.
        settings_for: Finds an adapter's settings by kind and name; asked only for adapters that a table names.
        environ: The environment, for overrides and secrets.
        names: Lists the parts of a kind, so that a fault can name the nearest.
        flags: Dotted keys and values of the command line, which beat everything.
        agents: The agents about to run, whose secrets must be set; None means all, () none.

    Raises:
        InvalidConfig: with every fault there is.
    """
    vault = vault_in(Layout(path.parent).vault, environ)
    keys = vault.remember()
    content = read_bytes(path)
    adapters = Adapters(settings_for=settings_for, names=names)
    around = Surroundings(adapters=adapters, environ=environ, flags=flags or {}, agents=agents, vault=vault)
    loaded = judge(content or b"", str(path), around)
    readable = _readable(path, loaded) if content is not None else ()
    warnings = (*readable, *_ignored_switches(loaded))
    return replace(loaded, secrets=(*loaded.secrets, *keys), warnings=warnings, digest=digest_of(content))


def judge(content: bytes, file: str, around: Surroundings) -> Loaded:
    """Judge a text that need not be on disk yet.

    Raises:
        InvalidConfig: with every fault there is.
    """
    document = parse(content, file)
    document.data = migrated(document.data, version_of(document))
    outside = overrides.overrides(around.environ, around.flags)
    problems = overrides.apply(document, outside, _shape(document, outside, around.adapters))
    document.data = references.with_built_in(document.data)
    shape = _shape(document, [], around.adapters)

    root, root_problems = _root(document, shape)
    found = instances.build(document, around.adapters, shape, Sources(environ=around.environ, vault=around.vault))
    problems += [*root_problems, *found.problems, *references.check(document, around.adapters)]
    problems += [
        fault
        for (kind, name), faults in found.unset.items()
        if _is_used(document, kind, name, around.agents)
        for fault in faults
    ]
    if problems or root is None:
        raise InvalidConfig(_ordered(problems))
    return Loaded(root=root, document=document, shape=shape, found=found, secrets=tuple(found.secrets))


def _shape(document: Document, outside: Sequence[overrides.Override], adapters: Adapters) -> Shape:
    wanted: dict[Kind, Sequence[str]] = {}
    for kind in ADAPTER_ROOTS:
        from_outside = [str(o.path[1]) for o in outside if o.path[0] == kind and len(o.path) > 1]
        wanted[kind] = [*references.adapters_named(document, kind), *from_outside]
    return shape_of(adapters, wanted)


def _root(document: Document, shape: Shape) -> tuple[Root | None, list[Problem]]:
    own = {name: value for name, value in document.data.items() if name not in ADAPTER_ROOTS}
    try:
        return Root.model_validate(own), []
    except ValidationError as error:
        return None, faults_of(error, (), document, shape)


def _is_used(document: Document, kind: Kind, name: str, agents: Collection[str] | None) -> bool:
    if agents is None:
        return True
    tables = references.names(document.data.get("agents"))
    only = references.configured(document, kind)
    fallback = only[0] if kind == "providers" and len(only) == 1 else None
    key = references.FIELDS[kind]
    return any(alias in tables and references.names(tables[alias]).get(key, fallback) == name for alias in agents)


def _ordered(problems: list[Problem]) -> list[Problem]:
    unique = dict.fromkeys(problems)
    return sorted(unique, key=lambda problem: (problem.line == 0, problem.line))


def _readable(path: FilePath, loaded: Loaded) -> tuple[str, ...]:
    """A file that others can read may hold no secret.

    Raises:
        InvalidConfig: it does.
    """
    if not readable_by_others(path):
        return ()
    literal = [at for at in loaded.found.literal if loaded.document.origin(at).source == "file"]
    if literal:
        cause = "a secret stands in a file that others can read"
        hint = f'chmod 600 {path}, or write {{ env = "NAME" }}'
        raise InvalidConfig([loaded.document.problem(at, cause, hint) for at in literal])
    return (f"{path} can be read by others: chmod 600 {path}",)


def _ignored_switches(loaded: Loaded) -> tuple[str, ...]:
    """Grants and switches are two ways to say one thing; with both, the grants count."""
    security = references.names(loaded.document.data.get("security"))
    written = sorted(references.names(security.get("tools")))
    if not written or not any(entry.effect == "allow" for entry in loaded.root.capabilities):
        return ()
    named = ", ".join(f"security.tools.{name}" for name in written)
    return (f"with [[capabilities]] these switches are ignored: {named}; take them out",)
