"""The vault as a part sees it: the secrets of one owner."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...types.errors import UsageError
from .codec import LONGEST_TEXT
from .store import Vault

NAME = re.compile(r"[a-z0-9_-]+(/[a-z0-9_-]+)*")
LONGEST = 200


def check_name(name: str) -> None:
    """Refuse what is no name of a secret.

    Raises:
        UsageError: it is none.
    """
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        raise UsageError(
            f"{name!r} is no name for a secret",
            hint="a-z, 0-9, _ and -, parts divided by /; or a key of the config, such as providers.openai.main.api_key",
        )


def check_text(text: str) -> None:
    """Refuse what cannot be kept.

    Raises:
        UsageError: it is empty, too long, or no text.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise UsageError("the secret is not Unicode text", hint="keep bytes as base64") from None
    if not text:
        raise UsageError("the secret is empty", hint="`ferrule secret remove` forgets one")
    if size > LONGEST_TEXT:
        raise UsageError(f"the secret is longer than {LONGEST_TEXT} bytes", hint="keep it in a file of its own")


@dataclass(frozen=True, slots=True)
class OwnedSecrets:
    """The `SecretStore` of one namespace; files are read and written in a thread."""

    vault: Vault
    namespace: str

    async def get(self, name: str) -> str | None:
        """Return a secret; None when there is none."""
        return await asyncio.to_thread(self.vault.get, self.namespace, name)

    async def put(self, name: str, text: str) -> None:
        """Keep or replace a secret; on disk when it returns."""
        check_name(name)
        check_text(text)
        await asyncio.to_thread(self._put, name, text)

    async def remove(self, name: str) -> bool:
        """Forget a secret; tells whether there was one."""
        return await asyncio.to_thread(self._remove, name)

    async def names(self) -> Sequence[str]:
        """Return all names, sorted."""
        entries = await asyncio.to_thread(self.vault.entries)
        return sorted(entries.get(self.namespace, {}))

    def _put(self, name: str, text: str) -> None:
        with self.vault.writing() as writing:
            writing.put(self.namespace, name, text)

    def _remove(self, name: str) -> bool:
        with self.vault.writing() as writing:
            return writing.remove(self.namespace, name)
