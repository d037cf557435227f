"""What can be wrong with a secret at rest. No text holds a secret, a key or a part of one.

VaultError
├─ KeyMissing          there is no key, and values that need one
├─ KeyRefused          the key is there and must not or cannot be used
├─ WrongKey            the value was encrypted with a key that is not here
├─ Truncated           the end of the value is missing
├─ Altered             the value is not as it was written
├─ Swapped             the value is genuine and was written for another place
├─ ForeignNamespace    the value is genuine and belongs to another agent, or to the installation
└─ UnknownVersion      a newer program wrote it
"""

from __future__ import annotations

from ...types.errors import StoreError


class VaultError(StoreError):
    """A secret at rest could not be read or written; nothing was changed."""

    code = "vault.failed"


class KeyMissing(VaultError):
    """There is no key, and values that need one."""

    code = "vault.key_missing"


class KeyRefused(VaultError):
    """The key is there and must not be used (others can read it) or cannot (it is no key)."""

    code = "vault.key_refused"


class WrongKey(VaultError):
    """The value was encrypted with a key that is not here."""

    code = "vault.wrong_key"


class Truncated(VaultError):
    """The end of the value is missing."""

    code = "vault.truncated"


class Altered(VaultError):
    """The value is not as it was written."""

    code = "vault.altered"


class Swapped(VaultError):
    """The value is genuine and was written for another place."""

    code = "vault.swapped"


class ForeignNamespace(VaultError):
    """The value is genuine and belongs to another agent, or to the installation."""

    code = "vault.foreign_namespace"


class UnknownVersion(VaultError):
    """A newer program wrote the value."""

    code = "vault.version"
