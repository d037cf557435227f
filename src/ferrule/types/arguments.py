"""Bounds that a tool's arguments carry in their annotations: ``Annotated[int, Range(1, 10)]``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Range:
    """The smallest and the largest number that is accepted, both included."""

    minimum: float
    maximum: float


@dataclass(frozen=True, slots=True)
class MaxLength:
    """The most characters or elements that are accepted."""

    length: int
