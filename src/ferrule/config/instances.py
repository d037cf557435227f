"""The tables of adapters, ``[providers.<adapter>.<alias>]``, checked by the adapters themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from ..ports.adapter import Kind, SettingsLike
from ..types.ids import is_alias
from . import references
from .document import Document
from .faults import faults_of
from .problems import Path, Problem, nearest
from .root import ADAPTER_ROOTS, DEFAULT
from .secret import Sources, reveal
from .shape import Adapters, Shape


@dataclass(slots=True)
class Instances:
    """What the adapters made of their tables.

    Attributes:
        settings: Checked tables by kind and ``<adapter>.<alias>``.
        problems: Faults, whoever uses the table.
        unset: Faults that matter to those who use the table: variables that are not set, values that do not open.
        secrets: Every secret, in plain text.
        literal: Where a secret stands in the config itself.
    """

    settings: dict[tuple[Kind, str], SettingsLike] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unset: dict[tuple[Kind, str], list[Problem]] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)
    literal: list[Path] = field(default_factory=list)


def build(document: Document, adapters: Adapters, shape: Shape, sources: Sources) -> Instances:
    """Check every table, and the defaults of those that an agent refers to without one."""
    result = Instances()
    for kind in ADAPTER_ROOTS:
        if not isinstance(document.data.get(kind, {}), Mapping):
            hint = f"write [{kind}.<adapter>.<alias>]"
            result.problems.append(document.problem((kind,), "should be a table", hint))
        for adapter, settings in _known(kind, document, adapters, result):
            for alias, table in _tables(kind, adapter, document, result):
                _one(_Table(kind, adapter, alias, table), settings, _Look(document, shape, sources), result)
    return result


@dataclass(frozen=True, slots=True)
class _Table:
    kind: Kind
    adapter: str
    alias: str
    value: object


@dataclass(frozen=True, slots=True)
class _Look:
    document: Document
    shape: Shape
    sources: Sources


def _known(
    kind: Kind, document: Document, adapters: Adapters, result: Instances
) -> Iterator[tuple[str, type[SettingsLike]]]:
    written = references.names(document.data.get(kind))
    for adapter in references.adapters_named(document, kind):
        settings = adapters.settings_for(kind, adapter)
        if settings is not None:
            yield adapter, settings
        elif adapter in written:
            hint = nearest(adapter, adapters.names(kind))
            result.problems.append(document.problem((kind, adapter), f"there is no adapter {adapter!r}", hint))


def _tables(kind: Kind, adapter: str, document: Document, result: Instances) -> Iterator[tuple[str, object]]:
    found = references.names(document.data.get(kind)).get(adapter, {})
    if not isinstance(found, Mapping):
        hint = f"write [{kind}.{adapter}.<alias>]"
        result.problems.append(document.problem((kind, adapter), "should be a table", hint))
        return
    for alias, table in found.items():
        if isinstance(table, Mapping) and is_alias(alias):
            yield alias, table
            continue
        cause = "should be a table" if is_alias(alias) else "not a name: 1 to 63 characters of a-z, 0-9 and _, no __"
        hint = f"write [{kind}.{adapter}.<alias>] above its keys"
        result.problems.append(document.problem((kind, adapter, alias), cause, hint))
    reference = f"{adapter}.{DEFAULT}"
    if DEFAULT not in found and reference in _referred(document, kind):
        yield DEFAULT, {}


def _referred(document: Document, kind: Kind) -> set[object]:
    agents = references.names(document.data.get("agents"))
    return {references.names(agent).get(references.FIELDS[kind]) for agent in agents.values()}


def _one(table: _Table, settings: type[SettingsLike], look: _Look, result: Instances) -> None:
    path: Path = (table.kind, table.adapter, table.alias)
    revealed = reveal(table.value, path=path, shape=look.shape, sources=look.sources)
    result.secrets += revealed.values
    result.literal += revealed.literal
    result.problems += [look.document.problem(at, cause, hint) for at, cause, hint in revealed.faults]
    key = (table.kind, f"{table.adapter}.{table.alias}")
    if revealed.unset:
        result.unset[key] = [look.document.problem(at, cause, hint) for at, cause, hint in revealed.unset]
    try:
        checked = settings.model_validate(revealed.table)
    except ValidationError as error:
        result.problems += faults_of(error, path, look.document, look.shape)
    except ValueError as error:  # an outside adapter that checks its table without pydantic
        result.problems.append(look.document.problem(path, str(error)))
    else:
        result.settings[key] = checked
