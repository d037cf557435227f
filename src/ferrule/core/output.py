"""An answer in a wanted form: JSON that follows a dataclass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from ..ports.schema_check import SchemaCompiler
from ..types.completion import ModelOptions
from ..types.events import ErrorInfo
from .endings import Stopped
from .schema_of import converter_of, schema_of

FENCE = "```"


class OutputForm:
    """The form of one turn's answer; it may be asked for once more when the answer does not fit.

    Attributes:
        value: The answer, once it fits; None before.
    """

    def __init__(self, wanted: type, schemas: SchemaCompiler) -> None:
        """Derive the form.

        Raises:
            UsageError: `wanted` is no dataclass, or a field of it has no form in JSON.
        """
        self.value: Any = None
        self._schema = schema_of(wanted)
        self._is_repairing = False
        self._name = wanted.__name__
        self._check = schemas.compile(self._schema)
        self._convert = converter_of(wanted)

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
            f"Answer again, with nothing but one JSON object that follows this schema:\n{self._schema.decode()}"
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


def _bare(text: str) -> str:
    """Take the fence of a code block away; models like to write one around JSON.

    >>> _bare(chr(96) * 3 + "json" + chr(10) + "{}" + chr(10) + chr(96) * 3)
    '{}'
    """
    text = text.strip()
    if text.startswith(FENCE) and text.endswith(FENCE) and "\n" in text:
        text = text.partition("\n")[2].removesuffix(FENCE)
    return text.strip()
