"""Changes to TOML text that leave everything else as it was written: comments, order, spacing."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.items import Item

from ..types.errors import UsageError
from .positions import sections
from .problems import Path

Node = Any
"""A document or table of tomlkit; its classes share no type that can be asked and changed."""

_MISSING = object()


def steps(key: str) -> Path:
    """Read a dotted key as TOML does, so that a step may be quoted.

    Raises:
        UsageError: it is no key.

    >>> steps('agents.main."odd key"')
    ('agents', 'main', 'odd key')
    """
    try:
        found: object = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{key!r} is not a key", hint="write it like agents.default.provider") from error
    path: tuple[str, ...] = ()
    while isinstance(found, dict) and len(found) == 1:
        ((step, found),) = found.items()
        path = (*path, step)
    if found != 0 or "\n" in key:
        raise UsageError(f"{key!r} is not one key", hint="write it like agents.default.provider")
    return path


def put(text: str, path: Path, value: object) -> str:
    """Return `text` with the value at `path`; tables that are missing are made.

    Raises:
        UsageError: a plain value stands where a table is needed.
    """
    document = tomlkit.parse(text)
    parent = _reach(document, path[:-1])
    ends = sections(text)
    if parent is not None and path[-1] not in parent and path[:-1] in ends and not isinstance(value, Mapping):
        return _insert(text, ends[path[:-1]], f"{_key(path[-1])} = {_item(value).as_string()}")
    table: Node = document
    for length, step in enumerate(path[:-1], 1):
        if step not in table:
            table[step] = tomlkit.table(is_super_table=length < len(path) - 1)
        table = table[step]
        if not isinstance(table, Mapping):
            raise UsageError(f"{'.'.join(map(str, path[:length]))} is a plain value, no table", hint="unset it first")
    table[path[-1]] = _item(value)
    return tomlkit.dumps(document)


def remove(text: str, path: Path) -> str:
    """Return `text` without the key or table at `path`.

    Raises:
        UsageError: it is not there.
    """
    document = tomlkit.parse(text)
    parent = _reach(document, path[:-1])
    if parent is None or path[-1] not in parent:
        raise UsageError(f"{'.'.join(map(str, path))} is not in the file", hint="`ferrule config list` names what is")
    del parent[path[-1]]
    return tomlkit.dumps(document)


def lead(text: str, new: Mapping[str, object]) -> str:
    """Return `text` changed so that it says what `new` says; equal parts keep their comments."""
    return _lead(text, (), tomllib.loads(text), new)


def _lead(text: str, path: Path, old: Mapping[str, object], new: Mapping[str, object]) -> str:
    for name in old.keys() - new.keys():
        text = remove(text, (*path, name))
    for name, value in new.items():
        before = old.get(name, _MISSING)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            text = _lead(text, (*path, name), before, value)
        elif before != value:
            text = put(text, (*path, name), value)
    return text


def _reach(document: Node, path: Path) -> Node | None:
    for step in path:
        if not isinstance(document, Mapping) or step not in document:
            return None
        document = document[str(step)]
    return document if isinstance(document, Mapping) else None


def _insert(text: str, line: int, statement: str) -> str:
    """Put a statement behind a line, indented like it and ended like it."""
    lines = text.split("\n")
    before = lines[line - 1]
    ending = "\r" if before.endswith("\r") else ""
    indent = before[: len(before) - len(before.lstrip(" \t"))]
    if line == len(lines):
        lines.append("")
    lines.insert(line, f"{indent}{statement}{ending}")
    return "\n".join(lines)


def _key(step: str | int) -> str:
    return tomlkit.key(str(step)).as_string()


def _item(value: object) -> Item:
    """Make an item; a table inside a value stays on its line."""
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for name, inner in value.items():
            table[name] = _item(inner)
        return table
    return tomlkit.item(value)
