"""What a person types into a search, as words that a text must hold: no syntax, no errors, every script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from .codec import clean
from .messages import Message
from .parts import FilePart, TextPart

QUERY_CHARS = 1_000
QUERY_WORDS = 32
BEFORE = 40
AFTER = 100


def plain(text: str) -> str:
    """Return text as it is compared: composed, without halves of characters and NUL."""
    return unicodedata.normalize("NFC", clean(text)).replace("\0", " ")


def search_words(query: str) -> list[str]:
    """Return the words of a query: what stands between spaces, punctuation and operators.

    At most 32 words of the first 1,000 characters count. A query of
    punctuation only is looked for as it stands.

    >>> search_words('plan:blue AND "re-index"* foo_bar')
    ['plan', 'blue', 'AND', 're', 'index', 'foo_bar']
    >>> search_words("C'est ***"), search_words(" ** ")
    (['C', 'est'], ['**'])
    """
    cut = plain(query[:QUERY_CHARS])
    spaced = "".join(char if _is_of_word(char) else " " for char in cut)
    return list(dict.fromkeys(spaced.split() or cut.split()))[:QUERY_WORDS]


def searched_text(message: Message) -> str:
    """Return what a search looks at: the text, the names of files, and what was asked of tools."""
    pieces = [message.text]
    for part in message.parts:
        if isinstance(part, TextPart):
            pieces.append(part.text)
        elif isinstance(part, FilePart):
            pieces.append(part.name)
    for call in message.calls:
        pieces += [call.name, *_strings(call.arguments)]
    return plain("\n".join(piece for piece in pieces if piece))


def holds(text: str, words: Iterable[str]) -> bool:
    """Tell whether `text`, which is plain, holds all words, whatever their case."""
    low = text.lower()
    return all(word.lower() in low for word in words)


def snippet(text: str, words: Iterable[str]) -> str:
    """Return the text around the first word that is found, on one line.

    >>> snippet("a" * 50 + "\\n  needle\\n" + "b" * 300, ["NEEDLE"]).count("…")
    2
    """
    found = [match.start() for word in words if (match := re.search(re.escape(word), text, re.IGNORECASE))]
    at = min(found, default=0)
    begin, end = max(0, at - BEFORE), at + AFTER
    flat = " ".join(text[begin:end].split())
    return ("…" if begin > 0 else "") + flat + ("…" if end < len(text) else "")


def _is_of_word(char: str) -> bool:
    if char == "_":
        return True
    kind = unicodedata.category(char)[0]
    return kind in "LMN" or (kind == "S" and not char.isascii())


def _strings(value: object) -> Iterable[str]:
    """Yield every text, number and name in a JSON value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)
    elif value is not None:
        yield str(value)
