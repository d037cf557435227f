"""The body of an answer: found out to be events or one plain document, then decoded as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...types.completion import ProviderEvent
from .._sse import BOM, SseParser
from .decoder import Decoder
from .failures import Failures


class Answer:
    """Decodes one body, piece by piece.

    The first character decides what it is, whatever the content type claims:
    a brace begins a plain document, a pointed bracket a web page, and anything
    else server-sent events.
    """

    __slots__ = ("_decoder", "_failures", "_parser", "_plain", "_start")

    def __init__(self, failures: Failures, *, made_ids: str) -> None:
        self._failures = failures
        self._decoder = Decoder(failures, made_ids=made_ids)
        self._start = b""  # the bytes before the first character
        self._plain: list[bytes] | None = None
        self._parser: SseParser | None = None

    @property
    def done(self) -> bool:
        """Whether the end mark was read, so that nothing more counts."""
        return self._decoder.done

    @property
    def ended(self) -> bool:
        """Whether the answer is whole, although more could come."""
        return self._decoder.ended

    def feed(self, piece: bytes) -> Iterator[ProviderEvent]:
        """Take a piece of the body and give the events that it completes.

        Raises:
            StreamBroken: the body is neither events nor JSON.
            ProviderError: the server reports an error inside its answer, or is no model API.
        """
        if self._parser is not None:
            return self._events(self._parser.feed(piece))
        if self._plain is not None:
            self._plain.append(piece)
            return iter(())
        return self._begin(self._start + piece)

    def end(self) -> Iterator[ProviderEvent]:
        """End the body; the last event is `Finished`.

        Raises:
            StreamBroken: it ended before the answer did.
            EmptyAnswer: nothing was said.
            ProviderError: as for `feed`.
        """
        if self._plain is not None:
            yield from self._decoder.body(b"".join(self._plain))
        elif self._parser is not None and not self._decoder.done:
            yield from self._events(self._parser.close())
        yield from self._decoder.end()

    def usage(self) -> Iterator[ProviderEvent]:
        """Give the usage that was not given yet."""
        return self._decoder.usage()

    def _begin(self, start: bytes) -> Iterator[ProviderEvent]:
        bare = start.removeprefix(BOM).lstrip()
        if not bare or BOM.startswith(start):
            self._start = start
            return iter(())
        if bare[:1] == b"<":
            raise self._failures.no_api("the server answers with a web page instead of a completion")
        if bare[:1] in (b"{", b"["):
            self._plain = [bare]
            return iter(())
        self._parser = SseParser()
        return self._events(self._parser.feed(start))

    def _events(self, payloads: Iterable[bytes]) -> Iterator[ProviderEvent]:
        """Decode the events of one read; nothing behind the end mark counts."""
        decoder = self._decoder
        for payload in payloads:
            if decoder.done:
                return
            yield from decoder.event(payload)
