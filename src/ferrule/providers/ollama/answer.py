"""The body of an answer: lines of JSON, or one document, told to the decoder as chat chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...types.completion import ProviderEvent
from ...types.errors import BadRequest, ProviderError
from .._chat.decoder import Decoder
from .._chat.failures import Failures
from .._json import loads
from .._lines import LineParser
from .encode import DIALECT

LAST_WORDS = {"length": "length", "stop": "stop"}
"""Reasons of the last line that mean something; all others (``load``, ``unload``, none) are an ordinary end."""


class Answer:
    """Decodes one body, piece by piece; streamed and plain answers differ in the number of lines only."""

    __slots__ = ("_calls", "_decoder", "_failures", "_parser")

    def __init__(self, failures: Failures, *, made_ids: str) -> None:
        self._failures = failures
        self._decoder = Decoder(failures, made_ids=made_ids, dialect=DIALECT)
        self._parser = LineParser()
        self._calls = 0

    @property
    def done(self) -> bool:
        """Whether the last line was read, so that nothing more counts."""
        return self._decoder.done

    @property
    def ended(self) -> bool:
        """The same: nothing follows the last line."""
        return self._decoder.done

    def feed(self, piece: bytes) -> Iterator[ProviderEvent]:
        """Take a piece of the body and give the events that it completes.

        Raises:
            StreamBroken: the body holds something else than JSON.
            ProviderError: the server reports an error inside its answer, or is no Ollama.
        """
        return self._events(self._parser.feed(piece))

    def end(self) -> Iterator[ProviderEvent]:
        """End the body; the last event is `Finished`.

        Raises:
            StreamBroken: it ended before the answer did.
            EmptyAnswer: nothing was said.
            ProviderError: as for `feed`.
        """
        yield from self._events(self._parser.close())
        yield from self._decoder.end()

    def usage(self) -> Iterator[ProviderEvent]:
        """Give the usage that was not given yet."""
        return self._decoder.usage()

    def _events(self, lines: Iterable[bytes]) -> Iterator[ProviderEvent]:
        for line in lines:
            if self._decoder.done:
                return
            yield from self._decoder.chunk(self._chunk(self._document(line)))

    def _document(self, line: bytes) -> Mapping[str, object]:
        if line[:1] == b"<" or line[:5] == b"data:":
            raise self._no_ollama("a web page" if line[:1] == b"<" else "server-sent events")
        try:
            document = loads(line)
        except ValueError as error:
            raise self._failures.broken(f"the answer holds a line that is not JSON ({error})") from None
        if not isinstance(document, dict):
            raise self._failures.broken("the answer holds JSON that is not an object")
        if "choices" in document:
            raise self._no_ollama("a chat completion")
        return document

    def _chunk(self, document: Mapping[str, object]) -> dict[str, object]:
        """Say one line in the words of the chat-completions dialect."""
        if document.get("error"):
            return {"error": document["error"]}
        message = document.get("message")
        delta = dict(message) if isinstance(message, dict) else {}
        delta["tool_calls"] = [
            self._numbered(call) for call in _list(delta.get("tool_calls")) if isinstance(call, dict)
        ]
        chunk: dict[str, object] = {"model": document.get("model")}
        reason = None
        if document.get("done") is True:
            self._decoder.done = True
            reason = LAST_WORDS.get(str(document.get("done_reason")), "stop")
            counts = {"prompt_tokens": document.get("prompt_eval_count")}
            chunk["usage"] = counts | {"completion_tokens": document.get("eval_count")}
        chunk["choices"] = [{"delta": delta, "finish_reason": reason}]
        return chunk

    def _numbered(self, call: Mapping[str, object]) -> dict[str, object]:
        """Give a call a number of its own: a line holds whole calls, and what number it carries starts anew in each."""
        self._calls += 1
        function = call.get("function")
        bare = {k: v for k, v in function.items() if k != "index"} if isinstance(function, dict) else function
        return {**call, "index": self._calls, "function": bare}

    def _no_ollama(self, what: str) -> ProviderError:
        return BadRequest(
            f"{self._failures.name}: the server answers with {what}, not in Ollama's own language",
            hint="for a server that speaks chat completions use [providers.openai.<alias>], with its base_url",
        )


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
