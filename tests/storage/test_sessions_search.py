"""The index of a search: made late, also by several at once, and never wrong."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.ports.session import SessionKey
from ferrule.storage.sessions import SqliteSessions, open_sessions
from ferrule.storage.sessions.search import BATCH
from ferrule.testing.clock import SequenceIds
from ferrule.testing.contracts.session import kept, said
from ferrule.types.search_words import holds, plain, search_words
from tests.storage._processes import outcomes, start


@pytest.fixture
async def sessions(tmp_path: Path) -> AsyncIterator[SqliteSessions]:
    async with open_sessions(tmp_path / "state" / "sessions.db", SystemClock(), RandomIds()) as store:
        yield store


async def test_more_messages_than_one_batch_are_all_indexed(sessions: SqliteSessions) -> None:
    one = await kept(sessions, *(said(f"number{i}x", id=f"m{i}") for i in range(2 * BATCH + 1)))
    for number in (0, BATCH - 1, BATCH, 2 * BATCH):
        assert [hit.message_id for hit in await sessions.search(f"number{number}x")] == [f"m{number}"]
    assert {hit.session_id for hit in await sessions.search("number", limit=5000)} == {one}


async def test_a_damaged_message_hides_no_other(sessions: SqliteSessions, tmp_path: Path) -> None:
    bad, good = await kept(sessions, said("apple")), await kept(sessions, said("apple too"))
    connection = apsw.Connection(str(tmp_path / "state" / "sessions.db"))
    connection.execute("update messages set body = ? where session_id = ?", (b"{", bad))
    connection.close()
    assert [hit.session_id for hit in await sessions.search("apple")] == [good]


async def test_the_words_as_they_stand_come_before_the_words_anywhere(sessions: SqliteSessions) -> None:
    await kept(sessions, said("index of what we re-do", id="apart"), said("please re-index it", id="whole"))
    await kept(sessions, said("to re-apply the index, index, index", id="other"))
    first, *others = await sessions.search("re-index")
    assert (first.message_id, len(others)) == ("whole", 2)


async def test_short_words_are_found_in_any_case_the_same_case_and_the_newest_first(sessions: SqliteSessions) -> None:
    for number, text in enumerate(("go there", "GO now", "go later", "g o")):
        await kept(sessions, said(text, id=f"m{number}"))
    assert [hit.message_id for hit in await sessions.search("go")] == ["m2", "m0", "m1"]
    assert [hit.message_id for hit in await sessions.search("go there")] == ["m0"]


async def test_a_snippet_is_one_line_around_what_was_found(sessions: SqliteSessions) -> None:
    await kept(sessions, said("word " * 100 + "\n\nthe needle\nis here " + "more " * 100))
    (hit,) = await sessions.search("needle")
    assert "the needle is here" in hit.snippet
    assert (hit.snippet[0], hit.snippet[-1], "\n" in hit.snippet, len(hit.snippet) < 160) == ("…", "…", False, True)


SEARCHER = """
async def main():
    async with open_sessions(PATH, SystemClock(), RandomIds()) as store:
        print(len(await store.search("word", limit=10_000)))

asyncio.run(main())
"""


async def test_processes_that_index_at_the_same_time_find_the_same(sessions: SqliteSessions, tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions.db"
    await kept(sessions, *(said(f"word {i}", id=f"m{i}") for i in range(1500)))
    assert outcomes([start(SEARCHER, path) for _ in range(4)]) == ["1500\n"] * 4
    connection = apsw.Connection(str(path))
    assert connection.execute("select count(*), count(distinct seq) from places").fetchall() == [(1500, 1500)]
    connection.execute("insert into words(words) values ('integrity-check')")
    connection.close()


letters = st.text(st.sampled_from("abAB预算é_- \"'*():^+\0ก"), max_size=8)


@pytest.mark.property
@settings(max_examples=40)
@given(st.lists(letters, min_size=1, max_size=4), st.lists(letters | st.text(max_size=20), min_size=1, max_size=4))
async def test_a_search_finds_exactly_the_texts_that_hold_the_words(said_texts: list[str], queries: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await compare(Path(folder) / "sessions.db", said_texts, queries)


async def compare(path: Path, said_texts: list[str], queries: list[str]) -> None:
    """Search in a new store, and by hand."""
    async with open_sessions(path, SystemClock(), SequenceIds()) as store:
        for number, text in enumerate(said_texts):
            await kept(store, said(text, id=str(number)), key=SessionKey(agent="a"))
        for query in queries:
            words = search_words(query)
            right = {str(i) for i, text in enumerate(said_texts) if words and holds(plain(text), words)}
            assert {hit.message_id for hit in await store.search(query)} == right, query
