"""What one encrypted value promises, whatever happens to it."""

from __future__ import annotations

import base64
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.storage.vault.cipher import INSTALL, Key, agent_namespace, new_key, read_key, seal, unseal
from ferrule.storage.vault.codec import LONGEST_TEXT, PREFIX, read_sealed
from ferrule.storage.vault.errors import (
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

KEY = Key(bytes(range(32)))
PLACE = "providers.openai.main.api_key"
KNOWN = "enc2:AX1HVDFzAWSjCmFnZW50L2FubmEABXRva2VuAAAAHELbqUci2qQIM-HL5zcAe7w6OQ3P9ksdkIwoTPDFieab0orsB9gDJgc"  # of KEY
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
KEYS = st.binary(min_size=32, max_size=32).map(Key)

VALUE = seal("sk-canary-1", KEY, namespace=INSTALL, place=PLACE)
RAW = base64.urlsafe_b64decode(VALUE.removeprefix(PREFIX) + "===")
AFTER_NAMESPACE = 1 + 8 + 1 + len(INSTALL)
AFTER_PLACE = AFTER_NAMESPACE + 2 + len(PLACE)


def encoded(raw: bytes) -> str:
    return PREFIX + base64.urlsafe_b64encode(raw).decode().rstrip("=")


def error_of(value: str) -> type[VaultError]:
    with pytest.raises(VaultError) as raised:
        unseal(value, [KEY], namespace=INSTALL, place=PLACE)
    assert "canary" not in f"{raised.value} {raised.value.hint}"
    assert raised.value.hint
    return type(raised.value)


def expected(position: int) -> set[type[VaultError]]:
    """Which errors may follow from one byte that was changed."""
    if position == 0:
        return {UnknownVersion}
    if position < 9:
        return {WrongKey}
    lengths = {9, AFTER_NAMESPACE, AFTER_NAMESPACE + 1, *range(AFTER_PLACE, AFTER_PLACE + 4)}
    return {Truncated, Altered} if position in lengths else {Altered}


@given(text=TEXTS, namespace=NAMES, place=NAMES, key=KEYS)
def test_what_was_sealed_opens_where_it_was_put(text: str, namespace: str, place: str, key: Key) -> None:
    value = seal(text, key, namespace=namespace, place=place)
    assert unseal(value, [new_key(), key], namespace=namespace, place=place) == text
    assert str(read_sealed(value)) == value


@given(position=st.integers(0, len(RAW) - 1), change=st.integers(1, 255))
def test_a_changed_byte_is_refused_and_named(position: int, change: int) -> None:
    raw = bytearray(RAW)
    raw[position] ^= change
    assert error_of(encoded(bytes(raw))) in expected(position)


@given(position=st.integers(0, len(VALUE) - 1), other=st.characters(exclude_categories=["Cs"]))
def test_a_changed_character_is_refused_whatever_it_is(position: int, other: str) -> None:
    if other != VALUE[position]:
        assert issubclass(error_of(VALUE[:position] + other + VALUE[position + 1 :]), VaultError)


def test_every_bit_counts_also_those_behind_the_last_byte() -> None:
    assert len(VALUE.removeprefix(PREFIX)) % 4 != 0, "the last character holds bits that no byte needs"
    for letter in (ascii_letters + digits + "-_").replace(VALUE[-1], ""):
        assert error_of(VALUE[:-1] + letter) is Altered


@pytest.mark.parametrize("length", range(len(PREFIX), len(VALUE)))
def test_a_value_that_was_cut_anywhere_is_called_cut(length: int) -> None:
    assert error_of(VALUE[:length]) is Truncated


@pytest.mark.parametrize("more", ["A", "AA", "AAAA", "=", " ", "ü", "\n", "\x1b[2J"])
def test_a_value_with_something_behind_it_is_called_altered(more: str) -> None:
    assert error_of(VALUE + more) is Altered


@pytest.mark.parametrize("value", ["", "enc2", "enc1:AAAA", "plain", VALUE.removeprefix("e")])
def test_what_is_no_encrypted_value_is_said_to_be_none(value: str) -> None:
    assert error_of(value) is Altered


def test_the_other_key_and_no_key_are_different_errors_that_name_the_ids() -> None:
    other = new_key()
    with pytest.raises(WrongKey) as raised:
        unseal(VALUE, [other], namespace=INSTALL, place=PLACE)
    assert KEY.id.hex() in str(raised.value)
    assert other.id.hex() in str(raised.value)
    with pytest.raises(KeyMissing, match=KEY.id.hex()):
        unseal(VALUE, [], namespace=INSTALL, place=PLACE)


def test_a_genuine_value_at_another_place_or_of_another_agent_says_whose_it_is() -> None:
    with pytest.raises(Swapped, match=r"for providers\.openai\.main\.api_key, and stands at providers\.openai\.b\.key"):
        unseal(VALUE, [KEY], namespace=INSTALL, place="providers.openai.b.key")
    with pytest.raises(ForeignNamespace, match="belongs to install"):
        unseal(VALUE, [KEY], namespace=agent_namespace("anna"), place=PLACE)
    theirs = seal("sk", KEY, namespace=agent_namespace("anna"), place=PLACE)
    with pytest.raises(ForeignNamespace, match="belongs to agent/anna"):
        unseal(theirs, [KEY], namespace=agent_namespace("ben"), place=PLACE)


def test_no_alias_makes_the_namespace_of_the_installation() -> None:
    assert agent_namespace(INSTALL) != INSTALL


@given(first=NAMES, second=NAMES)
def test_a_value_relabelled_for_another_namespace_or_place_is_altered(first: str, second: str) -> None:
    """Whoever can write files cannot make one agent's value another's, nor move it."""
    sealed = read_sealed(seal("sk", KEY, namespace=first, place="x"))
    for claim in (
        type(sealed)(key_id=KEY.id, namespace=second, place="x", nonce=sealed.nonce, body=sealed.body),
        type(sealed)(key_id=KEY.id, namespace=first, place=second, nonce=sealed.nonce, body=sealed.body),
    ):
        if claim != sealed:
            with pytest.raises(Altered):
                unseal(str(claim), [KEY], namespace=claim.namespace, place=claim.place)


def test_the_same_text_never_looks_the_same_twice() -> None:
    assert len({seal("sk", KEY, namespace=INSTALL, place=PLACE) for _ in range(50)}) == 50


def test_the_text_is_bounded_and_names_are_too() -> None:
    longest = "x" * LONGEST_TEXT
    assert unseal(seal(longest, KEY, namespace=INSTALL, place="p"), [KEY], namespace=INSTALL, place="p") == longest
    for text, namespace, place in (
        (longest + "x", "n", "p"),
        ("\ud800", "n", "p"),
        ("x", "n" * 256, "p"),
        ("x", "n", "p" * 70_000),
    ):
        with pytest.raises(VaultError):
            seal(text, KEY, namespace=namespace, place=place)


def test_a_key_is_written_as_hexadecimal_and_never_shown() -> None:
    assert read_key(f" {KEY.text.upper()}\n", "here") == KEY
    assert KEY.text not in repr(KEY)
    assert KEY.id.hex() not in KEY.text
    for text in ("", "00", "0" * 63, "g" * 64, "0" * 65, f"{KEY.text}\n{KEY.text}"):
        with pytest.raises(KeyRefused, match="here holds no key") as raised:
            read_key(text, "here")
        assert len(text) < 3 or text not in str(raised.value)


def test_a_known_value_still_opens() -> None:
    """The form at rest is a promise: this was written by the first version."""
    assert unseal(KNOWN, [KEY], namespace="agent/anna", place="token") == "sk-ünïcode"
