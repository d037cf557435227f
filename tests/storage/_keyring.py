"""A keyring of the tests' own, through the door that the package keyring offers."""

from __future__ import annotations

from keyring.backend import KeyringBackend
from keyring.errors import KeyringError


class Drawer(KeyringBackend):
    """Keeps entries in this process; may be locked, or take no change."""

    priority = 1.0

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # the package annotates everything but this
        self.entries: dict[tuple[str, str], str] = {}
        self.locked = False
        self.full = False

    def get_password(self, service: str, username: str) -> str | None:
        """Return an entry."""
        self._check()
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        """Make or replace an entry."""
        self._check(writes=True)
        self.entries[(service, username)] = password

    def delete_password(self, service: str, username: str) -> None:
        """Remove an entry."""
        self._check(writes=True)
        del self.entries[(service, username)]

    def _check(self, *, writes: bool = False) -> None:
        if self.locked:
            raise KeyringError("it is locked")
        if writes and self.full:
            raise KeyringError("it is full")
