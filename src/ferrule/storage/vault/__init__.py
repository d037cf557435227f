"""Secrets at rest: encrypted values in any file, and a store of named ones."""

from __future__ import annotations

from .cipher import INSTALL, agent_namespace
from .codec import PREFIX
from .errors import (
    Altered,
    ForeignNamespace,
    KeyMissing,
    KeyRefused,
    Swapped,
    Truncated,
    UnknownVersion,
    VaultError,
    WrongKey,
)
from .keys import VARIABLE, Keeper
from .scoped import OwnedSecrets, check_name, check_text
from .store import Entries, Move, Rotated, Vault, Writing, vault_in

__all__ = [
    "INSTALL",
    "PREFIX",
    "VARIABLE",
    "Altered",
    "Entries",
    "ForeignNamespace",
    "Keeper",
    "KeyMissing",
    "KeyRefused",
    "Move",
    "OwnedSecrets",
    "Rotated",
    "Swapped",
    "Truncated",
    "UnknownVersion",
    "Vault",
    "VaultError",
    "Writing",
    "WrongKey",
    "agent_namespace",
    "check_name",
    "check_text",
    "vault_in",
]
