"""Which tools an agent sees: a list of names and globs, or everything but such a list."""

from __future__ import annotations

from dataclasses import dataclass

from .globs import matches_name


@dataclass(frozen=True, slots=True)
class ShowList:
    """One list.

    Attributes:
        names: Names, or globs of names.
        is_deny: The list says what is hidden; everything else is shown.
    """

    names: tuple[str, ...] = ("*",)
    is_deny: bool = False

    def shows(self, name: str) -> bool:
        """Tell whether a name is shown."""
        return any(matches_name(pattern, name) for pattern in self.names) != self.is_deny


EVERYTHING = ShowList()
