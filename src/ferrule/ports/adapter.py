"""The record by which any swappable part is found, configured and opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from .clock import Clock, Ids
from .dialer import Dialer

Kind = Literal["providers", "memory", "channels", "tools", "fences", "runtimes", "routes"]
"""Also the name of the entry-point group: ``ferrule.<kind>``."""


class SettingsLike(Protocol):
    """What a settings class offers; pydantic models fit, and ports stay free of pydantic."""

    @classmethod
    def model_validate(cls, obj: object, /) -> SettingsLike:
        """Check and convert a table of the config."""
        ...

    @classmethod
    def model_json_schema(cls) -> Mapping[str, object]:
        """Describe the table."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What an adapter gets to build with.

    Attributes:
        name: ``<adapter>.<alias>`` of this instance, for example ``openai.main``.
        home: Absolute path of the state directory.
    """

    name: str
    dialer: Dialer
    clock: Clock
    ids: Ids
    home: str


S_contra = TypeVar("S_contra", contravariant=True)
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter(Generic[S_contra, T_co]):
    """How to build one swappable part. Importing the module that holds it must not import an SDK.

    Attributes:
        kind: What sort of part it is.
        name: Its name in the config, ``[root.<name>.<alias>]``, and of its entry point.
        settings: The closed model of its table.
        open: Builds the part; leaving the block closes it.
        summary: One line for people.
        extra: The optional dependency group it needs; "" when none.
    """

    kind: Kind
    name: str
    settings: type[SettingsLike]
    open: Callable[[S_contra, Parts], AbstractAsyncContextManager[T_co]]
    summary: str = ""
    extra: str = ""
