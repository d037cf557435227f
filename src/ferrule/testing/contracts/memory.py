"""Laws of `MemoryStore`. Subclass, and supply the `store` fixture."""

from __future__ import annotations

import pytest

from ...ports.memory import MemoryStore
from ...types.memory import MemoryEntry


@pytest.mark.contract
class MemoryStoreContract:
    """What every memory store promises."""

    async def test_recent_is_oldest_first(self, store: MemoryStore) -> None:
        for text in ("one", "two", "three"):
            await store.append(MemoryEntry(text=text))
        assert [e.text for e in await store.recent(2)] == ["two", "three"]

    async def test_limit_zero_is_empty(self, store: MemoryStore) -> None:
        await store.append(MemoryEntry(text="one"))
        assert list(await store.recent(0)) == []
        assert list(await store.search("one", 0)) == []

    async def test_search_finds_any_word_and_nothing_else(self, store: MemoryStore) -> None:
        for text in ("the blue lamp", "a red chair", "blue and red"):
            await store.append(MemoryEntry(text=text))
        assert {e.text for e in await store.search("blue", 10)} == {"the blue lamp", "blue and red"}
        assert {e.text for e in await store.search("lamp chair", 10)} == {"the blue lamp", "a red chair"}

    async def test_an_empty_query_matches_nothing(self, store: MemoryStore) -> None:
        await store.append(MemoryEntry(text="one"))
        assert list(await store.search("", 10)) == []

    async def test_search_keeps_to_its_limit(self, store: MemoryStore) -> None:
        for i in range(5):
            await store.append(MemoryEntry(text=f"lamp {i}"))
        assert len(await store.search("lamp", 3)) == 3
