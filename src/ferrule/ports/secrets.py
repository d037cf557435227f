"""Where a part keeps secrets of its owner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class SecretStore(Protocol):
    """Named secrets of one owner: the installation or one agent; no name of another owner can be reached.

    A name is ``a-z``, ``0-9``, ``_`` and ``-``, in parts divided by ``/``,
    such as ``oauth/mail``; at most 200 characters. A value is Unicode text of
    1 to 65,536 bytes. Nothing here logs or prints a value, and no error
    holds one.
    """

    async def get(self, name: str) -> str | None:
        """Return a secret; None when there is none.

        Raises:
            StoreError: it is there and does not open; the code says why.
        """
        ...

    async def put(self, name: str, text: str) -> None:
        """Keep or replace a secret; on disk when it returns, for a store that has one.

        Raises:
            UsageError: the name or the value cannot be kept.
            StoreError: nothing was changed.
        """
        ...

    async def remove(self, name: str) -> bool:
        """Forget a secret; tells whether there was one.

        Raises:
            StoreError: nothing was changed.
        """
        ...

    async def names(self) -> Sequence[str]:
        """Return all names, sorted; those whose values do not open as well.

        Raises:
            StoreError: the store cannot be read.
        """
        ...
