"""Laws of `SecretStore`. Subclass, and supply the fixtures `store` and `other`: two owners of one home."""

from __future__ import annotations

import asyncio

import pytest

from ...ports.secrets import SecretStore
from ...types.errors import UsageError


@pytest.mark.contract
class SecretStoreContract:
    """What every store of secrets promises."""

    async def test_it_fits_the_port(self, store: SecretStore) -> None:
        assert isinstance(store, SecretStore)

    async def test_what_was_put_is_got_and_the_last_one_counts(self, store: SecretStore) -> None:
        for text in ("one", "two", "ünï\n\x00code"):
            await store.put("mail", text)
            assert await store.get("mail") == text

    async def test_an_absent_name_is_none(self, store: SecretStore) -> None:
        assert await store.get("mail") is None
        assert not await store.remove("mail")
        assert list(await store.names()) == []

    async def test_removing_forgets_that_name_only(self, store: SecretStore) -> None:
        await store.put("a", "1")
        await store.put("a/b", "2")
        assert await store.remove("a")
        assert await store.get("a") is None
        assert await store.get("a/b") == "2"

    async def test_names_are_sorted(self, store: SecretStore) -> None:
        for name in ("c", "a/b", "a"):
            await store.put(name, "x")
        assert list(await store.names()) == ["a", "a/b", "c"]

    async def test_owners_do_not_see_each_other(self, store: SecretStore, other: SecretStore) -> None:
        await store.put("mail", "mine")
        assert await other.get("mail") is None
        await other.put("mail", "theirs")
        assert not await other.remove("mine")
        assert await store.get("mail") == "mine"
        assert await other.remove("mail")
        assert list(await store.names()) == ["mail"]

    async def test_changes_at_the_same_time_are_all_kept(self, store: SecretStore) -> None:
        await asyncio.gather(*(store.put(f"n{i}", str(i)) for i in range(8)))
        assert [await store.get(f"n{i}") for i in range(8)] == [str(i) for i in range(8)]

    @pytest.mark.parametrize("name", ["", "A", "a b", "../a", "/a", "a/", "a//b", "a.b", "ä", "a\n", "x" * 201])
    async def test_what_is_no_name_is_refused(self, store: SecretStore, name: str) -> None:
        with pytest.raises(UsageError):
            await store.put(name, "x")

    @pytest.mark.parametrize("text", ["", "canary" * 20_000, "canary\ud800"])
    async def test_what_is_no_value_is_refused_without_repeating_it(self, store: SecretStore, text: str) -> None:
        with pytest.raises(UsageError) as raised:
            await store.put("a", text)
        assert "canary" not in f"{raised.value} {raised.value.hint}"
        assert await store.get("a") is None
