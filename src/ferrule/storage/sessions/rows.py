"""Messages and facts as rows, and rows as messages and facts."""

from __future__ import annotations

import orjson

from ...ports.session import SessionFacts
from ...types.codec import clean, clean_value, message_from_dict, message_to_dict
from ...types.errors import StoreError
from ...types.messages import Message
from ..sqlite import Database, Row

FACTS = (
    "select id, agent, person, audience, title,"
    " (select count(*) from messages m where m.session_id = s.id)"
    " - (select count(*) from undone u where u.session_id = s.id), created_ms, changed_ms from sessions s"
)

_BODIES = (
    "select seq, body from messages m where session_id = ?"
    " and not exists (select 1 from undone u where u.session_id = m.session_id and u.seq = m.seq) order by seq"
)


def facts_of(row: Row) -> SessionFacts:
    """Make the facts of a row of `FACTS`."""
    names = ("id", "agent", "person", "audience", "title", "messages", "created_ms", "changed_ms")
    values: dict[str, object] = dict(zip(names, row, strict=True))
    return SessionFacts(**values)  # type: ignore[arg-type]  # the strict table holds these types


def the_session(database: Database, session_id: str) -> SessionFacts:
    """Return the facts of a session.

    Raises:
        StoreError: there is none.
    """
    rows = database.read(f"{FACTS} where id = ?", (clean(session_id),))
    if not rows:
        raise missing(session_id)
    return facts_of(rows[0])


def missing(session_id: str) -> StoreError:
    """Make the error that names a session that is not there."""
    hint = "`ferrule sessions` lists them"
    return StoreError(f"there is no session {session_id!r}", hint=hint, code="session.missing")


def numbered(database: Database, session_id: str) -> list[tuple[int, Message]]:
    """Return the messages that count, each with its number, oldest first.

    Raises:
        StoreError: one of them is damaged.
    """
    rows = database.read(_BODIES, (session_id,))
    return [(int(str(seq)), decoded(session_id, body)) for seq, body in rows]


def encoded(session_id: str, message: Message) -> bytes:
    """Return the bytes of a message.

    Raises:
        StoreError: it holds something that JSON cannot.
    """
    try:
        return orjson.dumps(message_to_dict(message))
    except (TypeError, RecursionError) as error:  # half a character in an id, or an argument that is no JSON
        raise StoreError(
            f"message {message.id!r} of session {session_id!r} cannot be stored: {error}",
            hint="ids must be valid text, and arguments JSON values that are not nested deeply",
        ) from error


def encoded_value(session_id: str, value: object) -> bytes:
    """Return the bytes of a JSON value.

    Raises:
        StoreError: it is none.
    """
    try:
        return orjson.dumps(clean_value(value))
    except (TypeError, RecursionError) as error:
        raise StoreError(
            f"arguments of a call in session {session_id!r} cannot be stored: {error}",
            hint="arguments must be JSON values that are not nested deeply",
        ) from error


def decoded_arguments(session_id: str, body: object) -> dict[str, object]:
    """Return the arguments that bytes stand for.

    Raises:
        StoreError: they are damaged.
    """
    try:
        arguments = orjson.loads(body)  # type: ignore[arg-type]  # the column is a blob
        if not isinstance(arguments, dict):
            raise ValueError("they are no JSON object")
    except ValueError as error:
        raise _damaged(session_id, error, what="the arguments of a call") from error
    return arguments


def decoded(session_id: str, body: object) -> Message:
    """Return the message that bytes stand for.

    Raises:
        StoreError: they are damaged, or of a newer version.
    """
    try:
        document = orjson.loads(body)  # type: ignore[arg-type]  # the column is a blob
        if not isinstance(document, dict):
            raise ValueError("it is no JSON object")
        return message_from_dict(document)
    except ValueError as error:
        raise _damaged(session_id, error) from error
    except StoreError as error:
        raise _damaged(session_id, error, error.hint) from error


def _damaged(session_id: str, cause: object, hint: str | None = None, *, what: str = "a message") -> StoreError:
    text = f"{what} of session {session_id!r} cannot be read: {cause}"
    return StoreError(text, hint=hint or "restore a backup", code="session.damaged")
