"""Encryption of one value: ChaCha20-Poly1305, with a key of its own for each namespace (HKDF over SHA-256).

``cryptography`` is imported when the first value is opened or sealed: a home
without encrypted values never pays for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from .codec import KEY_ID, LONGEST_NAME, LONGEST_TEXT, NONCE, TAG, Sealed, read_sealed
from .errors import Altered, ForeignNamespace, KeyMissing, KeyRefused, Swapped, VaultError, WrongKey

KEY = 32
INSTALL = "install"
"""The namespace of what belongs to no agent."""

_HEX = re.compile(r"[0-9a-fA-F]{64}")


def agent_namespace(alias: str) -> str:
    """Return the namespace of an agent; no alias can make it ``install``."""
    return f"agent/{alias}"


@dataclass(frozen=True, slots=True)
class Key:
    """32 random bytes; its id is derived from it and says nothing about it."""

    material: bytes = field(repr=False)

    @property
    def id(self) -> bytes:
        """Which key this is."""
        return _derived(self.material, "ferrule key id", KEY_ID)

    @property
    def text(self) -> str:
        """The key as it is written: 64 hexadecimal digits."""
        return self.material.hex()


def new_key() -> Key:
    """Make a key."""
    return Key(os.urandom(KEY))


def read_key(text: str, origin: str) -> Key:
    """Read a key as it is written.

    Raises:
        KeyRefused: it is none; names `origin`, never the text.
    """
    if not _HEX.fullmatch(text.strip()):
        raise KeyRefused(
            f"{origin} holds no key: 64 hexadecimal digits are needed",
            hint="restore it from a backup, or make one with `openssl rand -hex 32` and set the secrets again",
        )
    return Key(bytes.fromhex(text.strip()))


def seal(text: str, key: Key, *, namespace: str, place: str) -> str:
    """Encrypt a text for one place of one namespace.

    Raises:
        VaultError: the text is longer than 65,536 bytes or holds half a character, or the namespace is too long.
    """
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        plain = text.encode()
    except UnicodeEncodeError:
        raise VaultError("the secret is not Unicode text", hint="keep bytes as base64") from None
    if len(plain) > LONGEST_TEXT:
        raise VaultError(f"the secret is longer than {LONGEST_TEXT} bytes", hint="keep it in a file of its own")
    if len(namespace.encode()) > LONGEST_NAME or len(place.encode()) > 0xFFFF:
        raise VaultError("the name of the secret is too long", hint="take a shorter one")
    nonce = os.urandom(NONCE)
    blank = Sealed(key_id=key.id, namespace=namespace, place=place, nonce=nonce, body=bytes(len(plain) + TAG))
    cipher = ChaCha20Poly1305(_derived(key.material, f"ferrule values of {namespace}", KEY))
    body = cipher.encrypt(nonce, plain, blank.head)
    return str(Sealed(key_id=key.id, namespace=namespace, place=place, nonce=nonce, body=body))


def unseal(value: str, keys: Sequence[Key], *, namespace: str, place: str) -> str:
    """Decrypt a value where it stands.

    Raises:
        Truncated, Altered, UnknownVersion: the value is not whole.
        KeyMissing, WrongKey: it cannot be opened here.
        ForeignNamespace: it is genuine, and belongs to somebody else.
        Swapped: it is genuine, and was written for another place.
    """
    sealed = read_sealed(value)
    text = opened(sealed, keys)
    if sealed.namespace != namespace:
        raise ForeignNamespace(
            f"the value belongs to {sealed.namespace}, and stands at {place} of {namespace}",
            hint="a secret is not shared by copying its encrypted form: set it here",
        )
    if sealed.place != place:
        raise Swapped(
            f"the value was encrypted for {sealed.place}, and stands at {place}",
            hint=f"put it back, or set it with `ferrule secret set {place}`",
        )
    return text


def opened(sealed: Sealed, keys: Sequence[Key]) -> str:
    """Decrypt a value that says itself where it belongs.

    Raises:
        KeyMissing, WrongKey: there is no such key.
        Altered: it is not as it was written.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    key = next((key for key in keys if key.id == sealed.key_id), None)
    if key is None:
        raise _no_key(sealed, keys)
    cipher = ChaCha20Poly1305(_derived(key.material, f"ferrule values of {sealed.namespace}", KEY))
    try:
        return cipher.decrypt(sealed.nonce, sealed.body, sealed.head).decode()
    except InvalidTag:
        cause = f"the encrypted value of {sealed.place!r} was altered"  # its place may be what was altered: quoted
        raise Altered(cause, hint="set the secret again with `ferrule secret set`") from None


def _no_key(sealed: Sealed, keys: Sequence[Key]) -> VaultError:
    hint = "restore the key from a backup, or set the secret again with `ferrule secret set`"
    wanted = f"the value was encrypted with the key {sealed.key_id.hex()}"
    if not keys:
        return KeyMissing(f"{wanted}, and there is no key", hint=hint)
    return WrongKey(f"{wanted}; the key here is {keys[0].id.hex()}", hint=hint)


def _derived(material: bytes, purpose: str, length: int) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(algorithm=SHA256(), length=length, salt=None, info=purpose.encode()).derive(material)
