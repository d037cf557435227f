"""Checks arguments against a JSON Schema."""

from __future__ import annotations

from typing import Protocol


class SchemaCheck(Protocol):
    """One compiled schema."""

    def faults(self, value: object) -> list[str]:
        """Return what is wrong, each naming the field; empty when the value fits. Bounded in number and time."""
        ...


class SchemaCompiler(Protocol):
    """Compiles schemas."""

    def compile(self, schema: bytes) -> SchemaCheck:
        """Compile once per tool.

        Raises:
            UsageError: the schema itself is not valid.
        """
        ...
