"""The decorator for values that are made thousands of times a second.

A frozen dataclass costs three to four times a plain slotted one to make. `hot`
keeps "frozen" for the type checker, which refuses assignment, and pays nothing
for it at run time. Rules, config and results use real frozen dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def hot(cls: type[T]) -> type[T]:
    """Make `cls` a slotted, keyword-only dataclass that the type checker holds to be frozen."""
    make: Callable[[type[T]], type[T]] = dataclass(slots=True, kw_only=True)
    return make(cls)
