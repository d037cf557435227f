"""An answer in a wanted form: JSON that follows a dataclass or a schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from ..ports.schema_check import SchemaCompiler
from ..types.completion import ModelOptions
from ..types.errors import UsageError
from ..types.events import ErrorInfo
from .endings import Stopped
from .schema_of import Convert, converter_of, schema_of

FENCE = "```"

Form = type | Mapping[str, object]
"""A dataclass, or a JSON Schema."""


class OutputForm:
    """The form of one turn's answer; it may be asked for once more when the answer does not fit.

    Attributes:
        value: The answer, once it fits; None before.
    """

    def __init__(self, wanted: Form, schemas: SchemaCompiler) -> None:
        """Derive the form.

        Raises:
            UsageError: `wanted` is neither a dataclass nor a valid schema, or a field of it has no form in JSON.
        """
        self.value: Any = None
        self._is_repairing = False
        self._convert: Convert = _same
        if isinstance(wanted, Mapping):
            self._name, self._schema = "the schema", _written(wanted)
        else:
            self._name, self._schema, self._convert = wanted.__name__, schema_of(wanted), converter_of(wanted)
        self._check = schemas.compile(self._schema)

    def options(self, given: ModelOptions) -> ModelOptions:
        """Ask for the form; an answer that is asked for once more may not be a call."""
        allow_calls = False if self._is_repairing else given.allow_calls
        return replace(given, response_schema=self._schema, allow_calls=allow_calls)

    def take(self, text: str) -> str | None:
        """Take an answer as the value; returns the message that asks for it once more, None when it fits.

        Raises:
            Stopped: it does not fit for the second time.
        """
        faults = "; ".join(self._read(text))
        if not faults:
            return None
        if self._is_repairing:
            message = f"the answer does not fit {self._name}: {faults}"
            hint = "send again, use a model that keeps to a schema, or make the form simpler"
            raise Stopped("failed", ErrorInfo(code="output.invalid", message=message, hint=hint))
        self._is_repairing = True
        return (
            f"That answer does not fit: {faults}.\n"
            f"Answer again, with nothing but JSON that follows this schema:\n{self._schema.decode()}"
        )

    def _read(self, text: str) -> list[str]:
        try:
            document = orjson.loads(_bare(text))
        except orjson.JSONDecodeError as error:
            return [f"it is not JSON ({error})"]
        faults = [fault.removeprefix("arguments: ") for fault in self._check.faults(document)]
        if not faults:
            try:
                self.value = self._convert(document)
            except (ValueError, TypeError) as error:  # the dataclass checks itself, in __post_init__
                return [str(error) or type(error).__name__]
        return faults


def _written(schema: Mapping[str, object]) -> bytes:
    """Write a schema down as it is now.

    Raises:
        UsageError: it holds what JSON cannot.
    """
    try:
        return orjson.dumps(dict(schema))
    except orjson.JSONEncodeError as error:
        raise UsageError(f"the schema of the answer cannot be written as JSON: {error}") from None


def _same(document: Any) -> Any:
    return document


def _bare(text: str) -> str:
    """Take the fence of a code block away; models like to write one around JSON.

    >>> _bare(chr(96) * 3 + "json" + chr(10) + "{}" + chr(10) + chr(96) * 3)
    '{}'
    """
    text = text.strip()
    if text.startswith(FENCE) and text.endswith(FENCE) and "\n" in text:
        text = text.partition("\n")[2].removesuffix(FENCE)
    return text.strip()
