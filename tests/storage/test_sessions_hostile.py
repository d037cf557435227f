"""Sessions that came from files meant to do harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.ports.session import SessionKey
from ferrule.storage.sessions import open_sessions
from ferrule.storage.sessions.document import from_document
from ferrule.types.errors import StoreError

KEY = SessionKey(agent="a", person="p", audience="p")


def document(*messages: str) -> bytes:
    """Write messages, given as the rest of their JSON, into a document."""
    said = ",".join(f'{{"v":1,"id":"m{i}",{rest}}}' for i, rest in enumerate(messages))
    return f'{{"format":"ferrule.session","v":1,"session":{{}},"messages":[{said}]}}'.encode()


async def test_a_time_that_no_column_holds_spoils_no_search(tmp_path: Path) -> None:
    async with open_sessions(tmp_path / "s.db", SystemClock(), RandomIds()) as store:
        for number, at in enumerate((2**63, 2**64 - 1, -(2**63), 5)):
            _, said = from_document(document(f'"role":"user","text":"hello {number}","at_ms":{at}'), "f")
            await store.take(KEY, said)
        assert len(await store.search("hello")) == 4


@pytest.mark.parametrize("depth", [260, 900, 2_000])
async def test_arguments_that_are_nested_too_deeply_are_refused_and_nothing_is_made(tmp_path: Path, depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    call = f'"role":"assistant","calls":[{{"id":"c","name":"t","arguments":{deep}}}]'
    async with open_sessions(tmp_path / "s.db", SystemClock(), RandomIds()) as store:
        with pytest.raises(StoreError, match=r"limit reached|recursion|depth"):
            await store.take(KEY, from_document(document('"role":"user","text":"hi"', call), "f")[1])
        assert await store.list() == []
