"""A keyring of the tests' own, through the door that the package keyring offers."""

from __future__ import annotations

from keyring.backend import KeyringBackend
from keyring.errors import KeyringError


class Drawer(KeyringBackend):
    """Keeps entries in this process; may be locked."""

    priority = 1.0

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # the package annotates everything but this
        self.entries: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        """Return an entry."""
        self._check()
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        """Make or replace an entry."""
        self._check()
        self.entries[(service, username)] = password

    def delete_password(self, service: str, username: str) -> None:
        """Remove an entry."""
        self._check()
        del self.entries[(service, username)]

    def _check(self) -> None:
        if self.locked:
            raise KeyringError("it is locked")
