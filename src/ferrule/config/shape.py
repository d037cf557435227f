"""The whole grammar as one JSON schema, and questions about it.

Adapters describe their tables by JSON schema only (the port knows no
pydantic), so everything that is asked about a key - its neighbours, whether
it is a secret, its default - is answered from the schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..ports.adapter import Kind, SettingsLike
from .problems import Path
from .root import ADAPTER_ROOTS, Root

Node = Mapping[str, object]
SettingsFor = Callable[[Kind, str], type[SettingsLike] | None]
Names = Callable[[Kind], Sequence[str]]


def no_settings(kind: Kind, adapter: str) -> type[SettingsLike] | None:
    """Know no adapter."""
    return None


def no_names(kind: Kind) -> Sequence[str]:
    """Know no adapter's name."""
    return ()


@dataclass(frozen=True, slots=True)
class Adapters:
    """Which adapters there are: `settings_for` imports one, `names` only lists them."""

    settings_for: SettingsFor = no_settings
    names: Names = no_names


class Shape:
    """One JSON schema (draft 2020-12) of everything that may stand in the file."""

    def __init__(self, schema: dict[str, object]) -> None:
        self.schema = schema
        self._definitions = _table(schema.get("$defs"))

    def nodes(self, path: Path) -> list[Node]:
        """Return every schema that describes the value at `path`; none when no such key exists."""
        found = self._variants(self.schema)
        for step in path:
            found = [inner for node in found for child in _children(node, step) for inner in self._variants(child)]
        return found

    def keys(self, path: Path) -> list[str]:
        """List the keys that a table may hold; empty when any name goes."""
        return [name for node in self.nodes(path) for name in _table(node.get("properties"))]

    def is_secret(self, path: Path) -> bool:
        """Tell whether the value is never to be shown: ``format: password``, as pydantic's SecretStr says."""
        return any(node.get("format") == "password" or node.get("writeOnly") is True for node in self.nodes(path))

    def is_text_only(self, path: Path) -> bool:
        """Tell whether nothing but text fits, so that ``true`` and ``12`` are text as well."""
        nodes = [node for node in self.nodes(path) if node.get("type") != "null"]
        return bool(nodes) and all(_is_text(node) for node in nodes)

    def defaults(self, path: Path) -> Iterator[tuple[str, object]]:
        """Yield the keys of a table with the values they have when nobody sets them, tables left out."""
        for node in self.nodes(path):
            for name, child in _table(node.get("properties")).items():
                if isinstance(child, Mapping) and "default" in child and not self._is_table(child):
                    yield name, child["default"]

    def tables(self, path: Path) -> list[str]:
        """List the tables that always exist below `path`."""
        return [
            name
            for node in self.nodes(path)
            for name, child in _table(node.get("properties")).items()
            if isinstance(child, Mapping) and self._is_table(child) and self.keys((*path, name))
        ]

    def every_key(self) -> list[str]:
        """List every key, with ``*`` where a name is chosen by the operator."""
        return sorted(self._walk((), self.schema))

    def _walk(self, path: tuple[str, ...], schema: Node) -> Iterator[str]:
        variants = self._variants(schema)
        inner = [node for node in variants if _is_object(node)]
        if not inner and any(node.get("type") != "object" for node in variants):
            yield ".".join(path)  # an object without keys, such as a root without adapters, holds none
        if inner and any(node.get("type") == "array" for node in variants):
            yield ".".join(path)  # a list may stand there as well as the table
        for node in inner:
            properties = _table(node.get("properties"))
            for name, child in properties.items():
                yield from self._walk((*path, name), _table(child))
            if not properties:
                yield from self._walk((*path, "*"), _table(node.get("additionalProperties")))

    def _is_table(self, schema: Node) -> bool:
        return any(_is_object(node) for node in self._variants(schema))

    def _variants(self, schema: Node) -> list[Node]:
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return self._variants(_table(self._definitions.get(reference.removeprefix("#/$defs/"))))
        for word in ("anyOf", "oneOf", "allOf"):
            choices = schema.get(word)
            if isinstance(choices, list):
                return [node for choice in choices for node in self._variants(_table(choice))]
        return [schema]


def shape_of(adapters: Adapters, wanted: Mapping[Kind, Sequence[str]]) -> Shape:
    """Put the root's tables and those of the `wanted` adapters together; unknown adapters are left out."""
    schema: dict[str, object] = json.loads(json.dumps(Root.model_json_schema()))
    definitions: dict[str, object] = {}
    roots: dict[str, object] = {}
    for kind in ADAPTER_ROOTS:
        tables: dict[str, object] = {}
        for name in wanted.get(kind, ()):
            settings = adapters.settings_for(kind, name)
            if settings is not None:
                label = f"{kind}.{name}"
                definitions.update(_renamed(settings.model_json_schema(), label))
                tables[name] = _named_tables({"$ref": f"#/$defs/{label}"})
        roots[kind] = {"type": "object", "additionalProperties": False, "properties": tables}
    schema["$defs"] = {**_table(schema.get("$defs")), **definitions}
    schema["properties"] = {**roots, **_table(schema["properties"])}
    schema["title"] = "config.toml"
    return Shape(schema)


def _named_tables(schema: Node) -> dict[str, object]:
    return {"type": "object", "additionalProperties": schema}


def _renamed(schema: Mapping[str, object], label: str) -> dict[str, object]:
    """Give the definitions of one adapter names that no other adapter uses."""
    text = json.dumps(dict(schema)).replace('"#/$defs/', f'"#/$defs/{label}/')
    own: dict[str, object] = json.loads(text)
    inner = _table(own.pop("$defs", None))
    return {label: own, **{f"{label}/{name}": node for name, node in inner.items()}}


def _children(node: Node, step: str | int) -> list[Node]:
    if isinstance(step, int):
        return [_table(node["items"])] if isinstance(node.get("items"), Mapping) else []
    properties = _table(node.get("properties"))
    if step in properties:
        return [_table(properties[step])]
    more = node.get("additionalProperties")
    return [more] if isinstance(more, Mapping) else []


def _is_object(node: Node) -> bool:
    return bool(node.get("properties")) or isinstance(node.get("additionalProperties"), Mapping)


def _is_text(node: Node) -> bool:
    if node.get("type") == "string":
        return True
    choices = node.get("enum", [node["const"]] if "const" in node else [])
    return isinstance(choices, list) and bool(choices) and all(isinstance(choice, str) for choice in choices)


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
