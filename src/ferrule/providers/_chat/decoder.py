"""Answers of the chat-completions dialect, streamed or whole, as provider events."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from ...types.completion import (
    CallReady,
    Finished,
    ProviderEvent,
    ReasoningChunk,
    StopReason,
    TextChunk,
    UsageReported,
)
from ...types.errors import EmptyAnswer
from ...types.usage import Usage
from .._json import Pairs, clean, loads
from .calls import CallAssembler
from .encode import DIALECT
from .failures import Failures
from .think import ThinkFilter

DONE = b"[DONE]"
REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
"""Names under which servers send reasoning; the first one that says something is the one that is read and sent back."""

REASONS: dict[str, StopReason] = {
    "stop": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "sensitive": "content_filter",
    "end_turn": "stop",
    "stop_sequence": "stop",
}
"""The vendors' words for why a model stopped."""

CUT_SHORT = ("length", "content_filter")
"""Reasons after which the last arguments may be incomplete."""

FAILED = frozenset({"error", "abort", "network_error", "insufficient_system_resource"})
"""Words that say that the server gave up; what came until then is no answer."""

_MOST_TOKENS = 10**12
"""A count beyond it is no count."""

_TOLD = 80
"""Characters of a vendor's unknown word that are logged."""

log = logging.getLogger(__name__)


class Decoder:
    """Turns the chunks of one answer into events; one decoder an answer.

    Calls are given by `end` only, so nothing of an answer that breaks off can
    run. Missing, null and empty values mean the same: nothing was said.

    Args:
        failures: Makes the errors, naming the provider.
        made_ids: Beginning of the ids of calls that came without one; unique to the request.
        dialect: Noted in the calls: who may be sent their unknown fields.
    """

    __slots__ = (
        "_calls",
        "_dialect",
        "_failures",
        "_heard",
        "_made_ids",
        "_pairs",
        "_reason",
        "_reasoning_field",
        "_said",
        "_think",
        "_thinking_pairs",
        "_thought",
        "_usage",
        "done",
        "model",
        "vendor_id",
    )

    def __init__(self, failures: Failures, *, made_ids: str, dialect: str = DIALECT) -> None:
        self._failures = failures
        self._dialect = dialect
        self._made_ids = made_ids
        self._calls = CallAssembler()
        self._think = ThinkFilter()
        self._pairs = Pairs()
        self._thinking_pairs = Pairs()
        self._usage: Mapping[str, object] | None = None
        self._reason = ""
        self._reasoning_field = ""
        self._heard = False  # whether any content came
        self._said = False  # whether visible text was given
        self._thought = False  # whether reasoning was given
        self.done = False
        self.model = ""
        self.vendor_id = ""

    @property
    def ended(self) -> bool:
        """Whether the answer has ended properly, so that only usage may still come."""
        return self.done or self._reason != ""

    def event(self, data: bytes) -> list[ProviderEvent]:
        """Take the data of one server-sent event.

        Raises:
            StreamBroken: not JSON, not UTF-8, or cut.
            ProviderError: the server reports an error inside its answer.
        """
        if data == DONE or data.strip() == DONE:
            self.done = True
            return []
        return self.chunk(self._document(data)) if data else []

    def body(self, data: bytes) -> list[ProviderEvent]:
        """Take a whole plain body; it ends the answer.

        Raises:
            StreamBroken: not JSON, not UTF-8, or cut.
            ProviderError: the body is an error report.
        """
        document = self._document(data)
        self.done = True
        if "choices" not in document and any(document.get(name) for name in ("message", "detail", "msg")):
            raise self._failures.in_answer(document)
        return self.chunk(document)

    def usage(self) -> Iterator[ProviderEvent]:
        """Give the last usage that came, once; also for an answer that failed, since it was paid for."""
        usage = read_usage(self._usage) if self._usage is not None else None
        self._usage = None
        if usage is not None:
            yield UsageReported(usage=usage)

    def end(self) -> Iterator[ProviderEvent]:
        """Give what can only be given at the end: held text, calls, usage, and `Finished`.

        Raises:
            StreamBroken: the answer did not end properly.
            EmptyAnswer: it ended without text, calls or reasoning.
        """
        if not self.ended:
            raise self._failures.broken("the stream ended before the answer did")
        yield from self._last_text()
        reason = self._stop_reason()
        calls = self._calls.finish(made_ids=self._made_ids, cut=reason in CUT_SHORT, dialect=self._dialect)
        for call in calls:
            yield CallReady(call=call)
        yield from self.usage()
        if not (self._said or calls or self._thought or reason == "content_filter"):
            raise EmptyAnswer(
                f"{self._failures.name}: the answer holds no text, no tool call and no reasoning",
                hint="raise max_output_tokens" if reason == "length" else None,
            )
        if calls and reason == "stop":
            reason = "tool_calls"
        yield Finished(reason=reason, model=self.model, vendor_id=self.vendor_id)

    def _document(self, data: bytes) -> Mapping[str, object]:
        try:
            chunk = loads(data, keep_halves=True)
        except ValueError as error:
            raise self._failures.broken(f"the stream holds data that is not JSON ({error})") from None
        if not isinstance(chunk, dict):
            raise self._failures.broken("the stream holds JSON that is not an object")
        return chunk

    def chunk(self, chunk: Mapping[str, object]) -> list[ProviderEvent]:
        """Take one decoded chunk.

        Raises:
            ProviderError: the server reports an error inside its answer.
        """
        error = chunk.get("error")
        if error or chunk.get("object") == "error" or chunk.get("type") == "error":
            raise self._failures.in_answer(error or chunk)
        if not self.vendor_id or not self.model:
            self._note_names(chunk)
        self._count(chunk)
        choices = chunk.get("choices")
        if not choices or not isinstance(choices, list):
            return []
        choice = choices[0]
        if not isinstance(choice, dict):
            return []
        events = self._choice(choice)
        reason = choice.get("finish_reason")
        if reason:
            self._count(choice)  # some servers count inside the choice
            self._finish(reason, choice)
        return events

    def _count(self, place: Mapping[str, object]) -> None:
        usage = place.get("usage")
        if usage and isinstance(usage, dict):
            self._usage = usage

    def _choice(self, choice: Mapping[str, object]) -> list[ProviderEvent]:
        delta = choice.get("delta")
        if isinstance(delta, dict):
            events = self._content(delta)
            pieces = delta.get("tool_calls")
            if pieces:
                self._calls.add(pieces)
            elif "function_call" in delta:
                self._calls.legacy(delta["function_call"])
            return events
        message = choice.get("message")
        if not isinstance(message, dict) or self._heard or self._calls:
            return []  # a repetition of what was streamed
        self._calls.whole(message.get("tool_calls"))
        self._calls.legacy(message.get("function_call"))
        return self._content(message)

    def _content(self, delta: Mapping[str, object]) -> list[ProviderEvent]:
        events: list[ProviderEvent] = []
        reasoning = self._reasoning(delta)
        if reasoning is not None:
            events.append(ReasoningChunk(text=reasoning, field=self._reasoning_field))
        content = delta.get("content") or delta.get("refusal")
        if not content:
            return events
        self._heard = True
        text = content if isinstance(content, str) else self._blocks(content, events)
        return self._text(self._pairs.feed(text), events)

    def _reasoning(self, delta: Mapping[str, object]) -> str | None:
        """Return the reasoning of a chunk; the first empty one counts too, since it has to be sent back."""
        name = self._reasoning_field
        if name and self._thought:
            text = delta.get(name)
            return self._thinking_pairs.feed(text) if text and isinstance(text, str) else None
        empty = ""
        for field in REASONING_FIELDS:
            text = delta.get(field)
            if text and isinstance(text, str):
                self._reasoning_field, self._thought = field, True
                return self._thinking_pairs.feed(text)
            if text == "":
                empty = empty or field
        if name or not empty:
            return None
        self._reasoning_field = empty
        return ""

    def _text(self, text: str, events: list[ProviderEvent]) -> list[ProviderEvent]:
        for event in self._think.feed(text):
            if type(event) is TextChunk:
                self._said = True
            else:
                self._thought = True
            events.append(event)
        return events

    def _blocks(self, content: object, events: list[ProviderEvent]) -> str:
        """Read content that comes as a list of typed blocks, or of strings."""
        texts: list[str] = []
        for block in content if isinstance(content, list) else ():
            if isinstance(block, str):
                texts.append(block)
            elif isinstance(block, dict):
                kind = block.get("type")
                if kind in ("thinking", "reasoning"):
                    self._thought = True
                    events.append(ReasoningChunk(text=_block_text(block.get(kind) or block.get("text"))))
                else:
                    texts.append(_block_text(block.get("text") or block.get("refusal")))
        return "".join(texts)

    def _last_text(self) -> Iterator[ProviderEvent]:
        """Give what was held back until no more can come."""
        alone = self._thinking_pairs.close()
        if alone:
            yield ReasoningChunk(text=alone, field=self._reasoning_field)
        half = self._pairs.close()
        events = self._text(half, []) if half else []
        for event in [*events, *self._think.close(answered=bool(self._calls))]:
            self._said = self._said or type(event) is TextChunk
            yield event

    def _finish(self, reason: object, choice: Mapping[str, object]) -> None:
        if isinstance(reason, str) and reason in FAILED:
            raise self._failures.in_answer(
                choice.get("error") or f"the server is unavailable: it stopped with {reason}"
            )
        if not isinstance(reason, str) or reason not in REASONS:
            word = self._failures.scrub(str(reason))[:_TOLD]
            log.warning("%s: unknown finish_reason %r is taken as stop", self._failures.name, word)
        self._reason = str(reason)

    def _stop_reason(self) -> StopReason:
        """Translate the vendor's word; without one, calls speak for themselves."""
        reason = REASONS.get(self._reason, "stop")
        return "stop" if reason == "tool_calls" and not self._calls else reason

    def _note_names(self, chunk: Mapping[str, object]) -> None:
        model, vendor_id = chunk.get("model"), chunk.get("id")
        self.model = self.model or (clean(model) if isinstance(model, str) else "")
        self.vendor_id = self.vendor_id or (clean(vendor_id) if isinstance(vendor_id, str) else "")


def _block_text(value: object) -> str:
    """Return the text of a block: a string, or a list of text blocks."""
    if isinstance(value, list):
        return "".join(_block_text(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def read_usage(usage: Mapping[str, object]) -> Usage | None:
    """Read the token counts; None when neither direction was counted.

    >>> read_usage({"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13})
    Usage(input=11, cached=0, output=2, reasoning=0, cost_micro_usd=None)
    """
    sent, received = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if sent is None and received is None:
        return None
    cached = _detail(usage, "prompt_tokens_details", "cached_tokens")
    if cached is None:
        cached = _count(usage.get("prompt_cache_hit_tokens"))
    reasoning = _detail(usage, "completion_tokens_details", "reasoning_tokens")
    return Usage(input=sent, cached=cached or 0, output=received, reasoning=reasoning or 0)


def _detail(usage: Mapping[str, object], group: str, name: str) -> int | None:
    details = usage.get(group)
    return _count(details.get(name)) if isinstance(details, dict) else None


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None
