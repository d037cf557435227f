"""`SchemaCheck` over jsonschema-rs: compiled once per tool, with regular expressions of linear time."""

from __future__ import annotations

import math
from collections.abc import Iterable

import jsonschema_rs
import orjson

from ..ports.schema_check import SchemaCheck
from ..types.errors import UsageError

MOST_FAULTS = 8
_HARMLESS = frozenset({str, bool, type(None)})


class JsonSchemaCompiler:
    """Compiles JSON Schemas."""

    def compile(self, schema: bytes) -> SchemaCheck:
        """Compile one schema.

        Raises:
            UsageError: it is not valid JSON, or not a valid JSON Schema.
        """
        try:
            document = orjson.loads(schema)
            validator = jsonschema_rs.validator_for(
                document, pattern_options=jsonschema_rs.RegexOptions(), offline=True
            )
        except (ValueError, jsonschema_rs.ValidationError) as error:
            raise UsageError(
                f"the schema is not valid: {str(error).splitlines()[0]}", hint="correct the schema"
            ) from error
        return _Compiled(validator)


class _Compiled:
    def __init__(self, validator: jsonschema_rs.Validator) -> None:
        self._validator = validator

    def faults(self, value: object) -> list[str]:
        """Return what is wrong, each naming the field."""
        if (strange := not_json(value)) is not None:
            return [strange]
        if self._validator.is_valid(value):
            return []
        found: list[str] = []
        for error in self._validator.iter_errors(value):
            where = ".".join(str(step) for step in error.instance_path) or "arguments"
            found.append(f"{where}: {error.message.splitlines()[0][:300]}")
            if len(found) == MOST_FAULTS:
                break
        return found


def not_json(value: object, where: str = "arguments") -> str | None:
    """Return what JSON cannot carry (NaN, infinity, numbers beyond 64 bits), naming the field; None without any."""
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return f"{where}: the number does not fit into 64 bits"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{where}: {value} is not a JSON number"
    items: Iterable[tuple[object, object]]
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return None
    for name, item in items:
        if type(item) in _HARMLESS:
            continue
        fault = not_json(item, f"{where}.{name}")
        if fault is not None:
            return fault
    return None
