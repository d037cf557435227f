"""Every key that counts with its value and origin, fit to be shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..types.errors import UsageError
from .document import Origin
from .layout import Layout
from .load import Loaded
from .problems import Path, dotted, nearest
from .secret import masked


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One key.

    Attributes:
        path: The key.
        value: Its value, secrets masked.
        origin: Where the value came from.
    """

    path: Path
    value: object
    origin: Origin

    @property
    def key(self) -> str:
        """The key as people write it."""
        return dotted(self.path)


def values(loaded: Loaded, layout: Layout) -> list[Value]:
    """List every key, also those that have their default; a key without a value is left out."""
    shown = masked(loaded.document.data, path=(), shape=loaded.shape)
    rows = [*_written(shown, (), loaded), *_workspaces(loaded, layout), *_defaults((), loaded)]
    unique: dict[Path, Value] = {}
    for row in rows:
        unique.setdefault(row.path, row)
    return sorted((row for row in unique.values() if row.value is not None), key=lambda row: row.key)


def lookup(loaded: Loaded, layout: Layout, key: str) -> list[Value]:
    """Return one key, or all keys below a table.

    Raises:
        UsageError: there is no such key, or it has no value.
    """
    every = values(loaded, layout)
    found = [row for row in every if row.key == key or row.key.startswith((f"{key}.", f"{key}["))]
    if not found:
        close = nearest(key, [row.key for row in every])
        meant = f"{close} " if close.startswith("did you mean") else ""
        raise UsageError(f"there is no key {key!r} with a value", hint=f"{meant}`ferrule config list` shows all")
    return found


def _written(value: object, path: Path, loaded: Loaded) -> Iterator[Value]:
    if isinstance(value, Mapping) and not loaded.shape.is_secret(path):
        for name, inner in value.items():
            yield from _written(inner, (*path, name), loaded)
    else:
        yield Value(path=path, value=value, origin=loaded.document.origin(path))


def _defaults(path: Path, loaded: Loaded) -> Iterator[Value]:
    """Yield what nobody wrote, in every table that exists."""
    for name, value in loaded.shape.defaults(path):
        yield Value(path=(*path, name), value=value, origin=Origin(source="default"))
    for name in {*_tables(loaded.document.value(path)), *loaded.shape.tables(path)}:
        yield from _defaults((*path, name), loaded)


def _tables(value: object) -> Sequence[str]:
    return [name for name, inner in value.items() if isinstance(inner, Mapping)] if isinstance(value, Mapping) else []


def _workspaces(loaded: Loaded, layout: Layout) -> Iterator[Value]:
    """The one default that depends on the home."""
    for alias in loaded.root.agents:
        path = ("agents", alias, "workspace", "path")
        yield Value(path=path, value=str(layout.workspace(alias)), origin=Origin(source="default"))
