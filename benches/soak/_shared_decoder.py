"""A decoder whose work is shared by all cuts of one answer.

What a decoder gives and what it becomes depend on the calls made to it and on
nothing else. So each distinct beginning of calls is worked out once, by a real
decoder, and kept in a tree: a cut that makes the same calls as another gets
what that one got, one that makes other calls gets a branch of its own.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator
from typing import TypeVar

from ferrule.providers._chat.answer import Answer
from ferrule.providers._chat.decoder import Decoder
from ferrule.types.completion import ProviderEvent
from ferrule.types.errors import ProviderError
from tests.providers._scripts.shape import FAILURES, MADE

Said = tuple[list[ProviderEvent], ProviderError | None]
"""What one call gave: events, and the error that ended it."""

T = TypeVar("T")

CALLS: dict[str, Callable[[Decoder, bytes], list[ProviderEvent] | Iterator[ProviderEvent]]] = {
    "event": lambda decoder, data: decoder.event(data),
    "body": lambda decoder, data: decoder.body(data),
    "end": lambda decoder, _: decoder.end(),
    "usage": lambda decoder, _: decoder.usage(),
}


class State:
    """A decoder after some calls, and those that were made next.

    The first next call is made to the decoder itself, which so becomes that of
    the next state; for further ones it is made anew from all calls, and kept
    frozen from then on.

    Attributes:
        calls: All calls so far.
        said: What the last call gave.
        done: Whether the end mark was read.
    """

    __slots__ = ("_decoder", "_frozen", "_next", "calls", "done", "said")

    def __init__(self, decoder: Decoder, calls: tuple[tuple[str, bytes], ...] = (), said: Said = ([], None)) -> None:
        self._decoder: Decoder | None = decoder
        self._frozen = b""
        self._next: dict[tuple[str, bytes], State] = {}
        self.calls = calls
        self.said = said
        self.done = decoder.done

    def after(self, call: str, data: bytes) -> State:
        """Return the state after one more call."""
        key = (call, data)
        found = self._next.get(key)
        if found is None:
            decoder = self._taken()
            found = self._next[key] = State(decoder, (*self.calls, key), _said(decoder, call, data))
        return found

    def _taken(self) -> Decoder:
        """Return a decoder in this state that the caller may change."""
        decoder, self._decoder = self._decoder, None
        if decoder is not None:
            return decoder
        if not self._frozen:
            decoder = Decoder(FAILURES, made_ids=MADE)
            for call, data in self.calls:
                _said(decoder, call, data)
            self._frozen = _frozen(decoder)
        return _thawed(self._frozen, Decoder)


def _said(decoder: Decoder, call: str, data: bytes) -> Said:
    events: list[ProviderEvent] = []
    try:
        events.extend(CALLS[call](decoder, data))
    except ProviderError as error:
        return events, error
    return events, None


class _Pickler(pickle.Pickler):
    def persistent_id(self, obj: object) -> str | None:
        """Keep the maker of errors out: it has no state, and is the same for all."""
        return "failures" if obj is FAILURES else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, pid: str) -> object:
        return FAILURES


def _frozen(value: object) -> bytes:
    target = io.BytesIO()
    _Pickler(target).dump(value)
    return target.getvalue()


def _thawed(data: bytes, kind: type[T]) -> T:
    value = _Unpickler(io.BytesIO(data)).load()
    assert isinstance(value, kind)
    return value


class SharedDecoder(Decoder):
    """Stands where an answer's decoder stands, and walks through the tree."""

    __slots__ = ("_state",)

    def __init__(self, root: State) -> None:
        self._state = root
        self.done = root.done

    def event(self, data: bytes) -> list[ProviderEvent]:
        """Take the data of one event."""
        return self._call("event", data)

    def body(self, data: bytes) -> list[ProviderEvent]:
        """Take a whole plain body."""
        return self._call("body", data)

    def end(self) -> Iterator[ProviderEvent]:
        """End the answer; what came before an error comes before it here, too."""
        self._state = self._state.after("end", b"")
        events, error = self._state.said
        yield from events
        if error is not None:
            raise error.with_traceback(None)

    def usage(self) -> Iterator[ProviderEvent]:
        """Give the usage that was not given yet."""
        return iter(self._call("usage", b""))

    def _call(self, name: str, data: bytes) -> list[ProviderEvent]:
        state = self._state = self._state.after(name, data)
        self.done = state.done
        events, error = state.said
        if error is not None:
            raise error.with_traceback(None)
        return events


def root() -> State:
    """Return the state before any call."""
    return State(Decoder(FAILURES, made_ids=MADE))


def answer_over(state: State) -> Answer:
    """Make an answer that decodes through the tree."""
    answer = Answer(FAILURES, made_ids=MADE)
    answer._decoder = SharedDecoder(state)
    return answer
