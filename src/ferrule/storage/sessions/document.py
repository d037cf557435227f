"""One session as a document that another store, and another program, can read.

``{"format": "ferrule.session", "v": 1, "session": {...}, "messages": [...]}``;
`session` has the fields of `SessionFacts`, and each message is as
`ferrule.types.codec` writes it. A field may be added; a change of meaning is
a new `v`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import orjson

from ...ports.session import SessionFacts
from ...types.codec import clean, message_from_dict, message_to_dict
from ...types.errors import StoreError
from ...types.messages import Message

FORMAT = "ferrule.session"
VERSION = 1
HINT = "import a file that `ferrule sessions export --format json` wrote"
TEXTS = ("id", "agent", "person", "audience", "title")
NUMBERS = ("messages", "created_ms", "changed_ms")


def document_of(facts: SessionFacts, messages: Sequence[Message]) -> bytes:
    """Return a session as indented JSON."""
    document = {
        "format": FORMAT,
        "v": VERSION,
        "session": {key: clean(value) if isinstance(value, str) else value for key, value in asdict(facts).items()},
        "messages": [message_to_dict(message) for message in messages],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def from_document(data: bytes, name: str) -> tuple[SessionFacts, list[Message]]:
    """Return the session that a document holds.

    Args:
        data: The document.
        name: What errors call it: the file.

    Raises:
        StoreError: it is no such document, is of a newer version, or a message is damaged; the error names which.
    """
    try:
        document = orjson.loads(data)
    except ValueError as error:
        raise StoreError(f"{name!r} is no JSON: {error}", hint=HINT, code="session.import") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _refused(name, f"it does not say that it is a {FORMAT!r}")
    if document.get("v") != VERSION:
        raise StoreError(
            f"{name!r} is of version {document.get('v')!r}, which cannot be read",
            hint=f"this Ferrule reads version {VERSION}; use the one that wrote it",
            code="session.import",
        )
    session, found = document.get("session"), document.get("messages")
    if not isinstance(session, dict) or not isinstance(found, list) or not found:
        raise _refused(name, "it has no session, or no messages")
    messages = [_message(name, number, message) for number, message in enumerate(found, 1)]
    _check_calls(name, messages)
    return _facts(name, session), messages


def _facts(name: str, session: Mapping[str, object]) -> SessionFacts:
    texts = {key: session.get(key, "") for key in TEXTS}
    numbers = {key: session.get(key, 0) for key in NUMBERS}
    for kind, values in ((str, texts), (int, numbers)):
        for key, value in values.items():
            if not isinstance(value, kind):
                raise _refused(name, f"{key!r} of its session is no {'text' if kind is str else 'number'}")
    return SessionFacts(**texts, **numbers)  # type: ignore[arg-type]  # checked one by one above


def _message(name: str, number: int, document: object) -> Message:
    try:
        if not isinstance(document, dict):
            raise StoreError("it is no JSON object")
        message = message_from_dict(document)
    except StoreError as error:
        raise _refused(name, f"message {number}: {error}") from error
    if message.role == "system":  # a session never holds one: instructions come from the agent's table
        raise _refused(name, f"message {number} is a system message, which only the agent's configuration may give")
    return message


def _check_calls(name: str, messages: Sequence[Message]) -> None:
    seen: set[str] = set()
    for number, message in enumerate(messages, 1):
        for call in message.calls:
            if not call.id or call.id in seen:
                raise _refused(name, f"message {number} has a call without an id of its own: {call.id!r}")
            seen.add(call.id)


def _refused(name: str, why: str) -> StoreError:
    return StoreError(f"{name!r} holds no session that can be imported: {why}", hint=HINT, code="session.import")
