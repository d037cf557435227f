"""The keyring of the desktop, as a place for the key. ``keyring`` is imported when it was chosen."""

from __future__ import annotations

from typing import Protocol

from .errors import KeyMissing, KeyRefused

SERVICE = "ferrule"
_HINT = "keep the key in a file instead: `ferrule secret rotate --to file`"


class KeyringLike(Protocol):
    """What we use of the package."""

    def get_password(self, service_name: str, username: str) -> str | None:
        """Return an entry; None when there is none."""
        ...

    def set_password(self, service_name: str, username: str, password: str) -> None:
        """Make or replace an entry."""
        ...

    def delete_password(self, service_name: str, username: str) -> None:
        """Remove an entry."""
        ...


def look_up(account: str) -> str | None:
    """Return what the keyring holds under an account; None when it holds nothing.

    Raises:
        KeyMissing: the package is not installed.
        KeyRefused: the keyring cannot be used.
    """
    keyring, failed = _loaded()
    try:
        return keyring.get_password(SERVICE, account)
    except failed as error:
        raise KeyRefused(f"the keyring cannot be read: {error}", hint="unlock it, then repeat") from None


def store(account: str, text: str) -> None:
    """Put a text into the keyring.

    Raises:
        KeyMissing: the package is not installed.
        KeyRefused: the keyring cannot be used.
    """
    keyring, failed = _loaded()
    try:
        keyring.set_password(SERVICE, account, text)
    except failed as error:
        raise KeyRefused(f"the keyring cannot be written: {error}", hint=_HINT) from None


def remove(account: str) -> None:
    """Take it out of the keyring; gone already is fine.

    Raises:
        KeyMissing: the package is not installed.
        KeyRefused: the keyring cannot be used.
    """
    keyring, failed = _loaded()
    try:
        if keyring.get_password(SERVICE, account) is not None:
            keyring.delete_password(SERVICE, account)
    except failed as error:
        raise KeyRefused(f"the keyring cannot be written: {error}", hint="unlock it, then repeat") from None


def _loaded() -> tuple[KeyringLike, type[Exception]]:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        raise KeyMissing(
            "the key is in the keyring, and the package keyring is not installed",
            hint="pip install 'ferrule[keyring]'",
        ) from None
    return keyring, KeyringError
