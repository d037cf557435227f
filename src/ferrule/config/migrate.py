"""Older files: ordered steps from one ``schema_version`` to the next, each a pure function of plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy

from .document import Document
from .problems import InvalidConfig
from .root import SCHEMA_VERSION

Data = dict[str, object]
Migration = Callable[[Data], Data]

MIGRATIONS: tuple[Migration, ...] = ()
"""The step at position n leads from version n + 1 to n + 2. Version 1 is the first."""


def version_of(document: Document, *, newest: int = SCHEMA_VERSION) -> int:
    """Return the version of a file; one that names none is of the first.

    Raises:
        InvalidConfig: it is newer than this program, or no version at all.
    """
    found = document.data.get("schema_version", 1)
    path = ("schema_version",)
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise InvalidConfig([document.problem(path, "not a version", f"write a number from 1 to {newest}")])
    if found > newest:
        cause = f"the file has version {found}, this program knows {newest}"
        raise InvalidConfig([document.problem(path, cause, "install a newer ferrule, or restore config.toml.bak")])
    return found


def migrated(data: Data, version: int, *, steps: Sequence[Migration] = MIGRATIONS) -> Data:
    """Lead `data` from `version` to the newest; the input is left as it is."""
    result = deepcopy(data)
    for step in steps[version - 1 :]:
        result = step(deepcopy(result))
    if len(steps) >= version:
        result["schema_version"] = len(steps) + 1
    return result
