"""The text form of an encrypted value: what stands behind ``enc2:``.

Base64 for URLs, without padding, of

    1   version, now 1
    8   id of the key
    1   length of the namespace, then the namespace in UTF-8
    2   length of the place, then the place in UTF-8
    4   length of the ciphertext with its tag
    12  nonce
    n   ciphertext, with its tag of 16 bytes

Lengths are big-endian. All before the ciphertext is the associated data of
the encryption, so none of it can be changed unnoticed.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

from .errors import Altered, Truncated, UnknownVersion

PREFIX = "enc2:"
VERSION = 1
KEY_ID = 8
NONCE = 12
TAG = 16
LONGEST_NAME = 255
"""Bytes of a namespace; a place may be longer, and is not in practice."""

LONGEST_TEXT = 65_536
"""Bytes of a secret."""

TOKENS = re.compile(rb"enc2:[A-Za-z0-9_-]+")
"""Finds encrypted values in any text, comments included."""

_STRAY = re.compile(r"[^A-Za-z0-9_-]")
_AGAIN = "set the secret again with `ferrule secret set`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """An encrypted value, taken apart.

    Attributes:
        namespace: ``install`` or ``agent/<alias>``.
        place: Where it stands: a config key, or a name in the store.
        body: The ciphertext with its tag.
    """

    key_id: bytes
    namespace: str
    place: str
    nonce: bytes
    body: bytes

    @property
    def head(self) -> bytes:
        """All before the ciphertext."""
        namespace, place = self.namespace.encode(), self.place.encode()
        return b"".join(
            (
                bytes([VERSION]),
                self.key_id,
                len(namespace).to_bytes(1, "big"),
                namespace,
                len(place).to_bytes(2, "big"),
                place,
                len(self.body).to_bytes(4, "big"),
                self.nonce,
            )
        )

    def __str__(self) -> str:
        """The text form."""
        return PREFIX + base64.urlsafe_b64encode(self.head + self.body).decode().rstrip("=")


def read_sealed(text: str) -> Sealed:
    """Take the text form apart.

    Raises:
        Truncated: its end is missing.
        Altered: it is not as it was written.
        UnknownVersion: a newer program wrote it.
    """
    if not text.startswith(PREFIX):
        raise Altered(f"the value does not begin with {PREFIX}", hint=_AGAIN)
    encoded = text.removeprefix(PREFIX)
    if _STRAY.search(encoded):
        raise Altered("the encrypted value holds a character that cannot be in one", hint=_AGAIN)
    raw = base64.urlsafe_b64decode(encoded[: len(encoded) - (len(encoded) % 4 == 1)] + "===")
    found = _Reader(raw)
    version = found.take(1)[0]
    if version != VERSION:
        raise UnknownVersion(
            f"the encrypted value has version {version}; this program knows {VERSION}", hint="update ferrule"
        )
    key_id = found.take(KEY_ID)
    namespace = found.take_text(1)
    place = found.take_text(2)
    length = int.from_bytes(found.take(4), "big")
    nonce = found.take(NONCE)
    body = found.take(length)
    sealed = Sealed(key_id=key_id, namespace=namespace, place=place, nonce=nonce, body=body)
    if length < TAG or str(sealed) != text:  # bytes behind the end, or bits that no byte needs
        raise Altered("the encrypted value was altered", hint=_AGAIN)
    return sealed


class _Reader:
    """Takes bytes from the front; too few are a cut."""

    def __init__(self, raw: bytes) -> None:
        self._rest = raw

    def take(self, count: int) -> bytes:
        if len(self._rest) < count:
            raise Truncated("the encrypted value is cut off", hint=f"copy it whole, or {_AGAIN}")
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken

    def take_text(self, length_bytes: int) -> str:
        raw = self.take(int.from_bytes(self.take(length_bytes), "big"))
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise Altered("the encrypted value was altered", hint=_AGAIN) from None
