"""Whether a wanted form may be asked for strictly."""

from __future__ import annotations

from functools import lru_cache

from .._json import loads

_KEYWORDS = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "title",
        "description",
    }
)
"""What every vendor takes in a strict schema; others (lengths, ranges, patterns) are refused by some."""

_SAYS_WHAT = frozenset({"type", "enum", "const", "anyOf"})


@lru_cache(maxsize=64)
def permits_strict(schema: bytes) -> bool:
    """Tell whether a JSON Schema keeps the rules of strict answers.

    An object lists all its fields as required and forbids others; the outermost
    schema is an object; every schema says of what type it is.

    >>> permits_strict(b'{"type":"object","properties":{},"required":[],"additionalProperties":false}')
    True
    >>> permits_strict(b'{"type":"object","properties":{"a":{"type":"string"}},"required":[]}')
    False
    """
    document = loads(schema)
    return isinstance(document, dict) and document.get("type") == "object" and _is_strict(document)


def _is_strict(schema: object) -> bool:
    if not isinstance(schema, dict) or not schema.keys() <= _KEYWORDS or not schema.keys() & _SAYS_WHAT:
        return False
    inner = [*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())]
    if schema.get("type") == "object":
        fields = schema.get("properties", {})
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(fields):
            return False
        inner += fields.values()
    return all(_is_strict(one) for one in inner)
