"""Finds messages by what they hold.

The index is made by the search that needs it, from the messages that were
added since the last one: a turn pays nothing for it, and a store of an older
version needs no long migration. It holds every run of three characters of a
text, so words are found inside other words and in scripts without spaces;
words of one or two characters are looked for in the texts themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from ...ports.session import SessionHit
from ...types.codec import clean, message_from_dict
from ...types.errors import StoreError
from ...types.messages import Message
from ...types.search_words import plain, search_words, searched_text, snippet
from ..sqlite import Database, Row, Statement

BATCH = 500
"""Messages that one transaction adds, so that other writers need not wait long."""

RUN = 3
"""Characters of a word that the index can find."""

_NEW = (
    "select s.id, m.seq, m.body from sessions s left join indexed i on i.session_id = s.id"
    " join messages m on m.session_id = s.id and m.seq > ifnull(i.upto, -1) order by s.id, m.seq limit ?"
)
# Another process may index the same messages, or delete the session, between our reading and our writing.
# The index counts its rows in memory. After a write that failed in the middle of a row the count may stay one too high,
# and the next write would keep it on disk, where a check calls the index malformed. Going back to a savepoint that the
# index knows of makes it read the count anew.
_FORGET = (
    "savepoint index_state",
    "insert into words(words, rank) values ('secure-delete', 1)",
    "rollback to index_state",
    "release index_state",
)
_PLACE = (
    "insert or ignore into places(session_id, seq, message_id, role, at_ms)"
    " select id, ?, ?, ?, ? from sessions where id = ?"
)
_WORDS = (
    "insert into words(rowid, text) select id, ? from places where session_id = ? and seq = ?"
    " and not exists (select 1 from words where rowid = places.id)"
)
_UPTO = (
    "insert into indexed select id, ? from sessions where id = ?"
    " on conflict(session_id) do update set upto = max(upto, excluded.upto)"
)
_FIND = (
    "select p.session_id, p.message_id, s.agent, s.title, p.role, words.text, p.at_ms"
    " from words join places p on p.id = words.rowid join sessions s on s.id = p.session_id"
    " where {conditions} and ? in ('', s.agent)"
    " and not exists (select 1 from undone u where u.session_id = p.session_id and u.seq = p.seq)"
    " order by instr(words.text, ?) = 0, {order}, p.at_ms desc, p.id desc limit ?"
)


async def catch_up(database: Database) -> None:
    """Index the messages that were added since the last search.

    Raises:
        StoreError: the store cannot be read or written.
    """
    while rows := database.read(_NEW, (BATCH,)):
        await database.write(_indexing(rows), undo=_nothing)


def hits(database: Database, query: str, *, agent: str, limit: int) -> Sequence[SessionHit]:
    """Return the messages that hold all words of a query, the best first.

    Raises:
        StoreError: the store cannot be read.
    """
    words = search_words(query)
    if not words:
        return []
    conditions: list[str] = []
    values: list[object] = []
    long = [word for word in words if len(word) >= RUN]
    if long:
        conditions.append("words match ?")
        values.append(" ".join('"' + word.replace('"', '""') + '"' for word in long))
    for word in words:
        if len(word) < RUN:
            forms = _forms(word)
            conditions.append("(" + " or ".join("instr(words.text, ?)" for _ in forms) + ")")
            values += forms
    sql = _FIND.format(conditions=" and ".join(conditions), order="words.rank" if long else "p.at_ms desc")
    rows = database.read(sql, (*values, clean(agent), plain(query).strip(), limit))
    return [_hit(row, words) for row in rows]


def _indexing(rows: Sequence[Row]) -> list[Statement]:
    places: list[Row] = []
    words: list[Row] = []
    upto: dict[object, object] = {}
    for session_id, seq, body in rows:
        upto[session_id] = seq
        message = _read(body)
        text = searched_text(message) if message is not None else ""
        if message is not None and text:
            places.append((seq, clean(message.id), message.role, _in_column(message.at_ms), session_id))
            words.append((text, session_id, seq))
    marks = [(seq, session_id) for session_id, seq in upto.items()]
    forget = [Statement(sql, [()]) for sql in _FORGET]
    statements = [*forget, Statement(_PLACE, places), Statement(_WORDS, words), Statement(_UPTO, marks)]
    return [statement for statement in statements if statement.rows]


def _read(body: object) -> Message | None:
    """Return a message; None when it is damaged: the others can be found all the same."""
    try:
        document = orjson.loads(body)  # type: ignore[arg-type]  # the column is a blob
        return message_from_dict(document) if isinstance(document, dict) else None
    except (ValueError, StoreError):
        return None


def _in_column(number: int) -> int:
    """Return the nearest number that a column holds; what was imported may say any."""
    return max(-(2**63), min(number, 2**63 - 1))


def _forms(word: str) -> list[str]:
    """Return a short word in the cases that a text may have it in; SQLite folds ASCII only."""
    every = (word, word.lower(), word.upper(), word.title())
    return list(dict.fromkeys(form for form in every if len(form) == len(word)))


def _hit(row: Row, words: Sequence[str]) -> SessionHit:
    names = ("session_id", "message_id", "agent", "title", "role", "snippet", "at_ms")
    values: dict[str, object] = dict(zip(names, row, strict=True))
    values["snippet"] = snippet(str(values["snippet"]), words)
    return SessionHit(**values)  # type: ignore[arg-type]  # the strict tables hold these types


def _nothing() -> None:
    """A failed write leaves nothing in memory."""
