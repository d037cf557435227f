"""The form that an answer of ``ferrule run`` must have: a JSON Schema in a file."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from ..core.schema_check import JsonSchemaCompiler
from ..types.errors import UsageError
from .named_files import bytes_of

OPTION = "--output-schema"


def form_in(name: str) -> Mapping[str, object] | None:
    """Read a schema; None without a file.

    Raises:
        UsageError: the file cannot be read, or holds no JSON Schema of an object; nothing was asked.
    """
    if not name:
        return None
    data = bytes_of(OPTION, name)
    try:
        schema = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{OPTION} {name}: it is not JSON: {error}", hint="correct it at that place") from None
    if not isinstance(schema, dict):
        raise UsageError(f"{OPTION} {name}: it is no JSON object", hint='write a JSON Schema: {"type": "object", ...}')
    try:
        JsonSchemaCompiler().compile(data)
    except UsageError as error:
        raise UsageError(f"{OPTION} {name}: {error}", hint=error.hint) from None
    return schema
