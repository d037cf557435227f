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
from .._json import loads
from .calls import CallAssembler
from .encode import DIALECT
from .failures import Failures
from .think import ThinkFilter

DONE = b"[DONE]"
REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")
"""Names under which servers send reasoning; the first one that appears is the one that is read and sent back."""

REASONS: dict[str, StopReason] = {
    "stop": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
"""The vendors' words for why a model stopped."""

CUT_SHORT = ("length", "content_filter")
"""Reasons after which the last arguments may be incomplete."""

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
        "_reason",
        "_reasoning_field",
        "_said",
        "_think",
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
        if not data:
            return []
        try:
            chunk = loads(data)
        except ValueError as error:
            raise self._failures.broken(f"the stream holds data that is not JSON ({error})") from None
        if not isinstance(chunk, dict):
            raise self._failures.broken("the stream holds JSON that is not an object")
        return self.chunk(chunk)

    def chunk(self, chunk: Mapping[str, object]) -> list[ProviderEvent]:
        """Take one decoded chunk.

        Raises:
            ProviderError: the server reports an error inside its answer.
        """
        error = chunk.get("error")
        if error or chunk.get("object") == "error":
            raise self._failures.in_answer(error or chunk)
        if not self.vendor_id or not self.model:
            self._note_names(chunk)
        usage = chunk.get("usage")
        if usage and isinstance(usage, dict):
            self._usage = usage
        choices = chunk.get("choices")
        if not choices or not isinstance(choices, list):
            return []
        choice = choices[0]
        if not isinstance(choice, dict):
            return []
        events = self._choice(choice)
        reason = choice.get("finish_reason")
        if reason:
            self._finish(reason, choice)
        return events

    def body(self, data: bytes) -> list[ProviderEvent]:
        """Take a whole plain body; it ends the answer.

        Raises:
            StreamBroken: not JSON, not UTF-8, or cut.
            ProviderError: the body is an error report.
        """
        events = self.event(data)
        self.done = True
        return events

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
        for event in self._think.close():
            self._said = True
            yield event
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

    def _choice(self, choice: Mapping[str, object]) -> list[ProviderEvent]:
        delta = choice.get("delta")
        if isinstance(delta, dict):
            events = self._content(delta)
            pieces = delta.get("tool_calls")
            if pieces:
                self._calls.add(pieces)
            return events
        message = choice.get("message")
        if not isinstance(message, dict) or self._heard or self._calls:
            return []  # a repetition of what was streamed
        self._calls.whole(message.get("tool_calls"))
        return self._content(message)

    def _content(self, delta: Mapping[str, object]) -> list[ProviderEvent]:
        events: list[ProviderEvent] = []
        name = self._reasoning_field
        reasoning = delta.get(name) if name else self._first_reasoning(delta)
        if isinstance(reasoning, str) and (reasoning or not name):
            self._thought = self._thought or reasoning != ""
            events.append(ReasoningChunk(text=reasoning, field=self._reasoning_field))
        content = delta.get("content") or delta.get("refusal")
        if not content:
            return events
        self._heard = True
        text = content if isinstance(content, str) else self._blocks(content, events)
        return self._text(text, events)

    def _first_reasoning(self, delta: Mapping[str, object]) -> object:
        for name in REASONING_FIELDS:
            value = delta.get(name)
            if isinstance(value, str):
                self._reasoning_field = name
                return value
        return None

    def _text(self, text: str, events: list[ProviderEvent]) -> list[ProviderEvent]:
        for event in self._think.feed(text):
            if type(event) is TextChunk:
                self._said = True
            else:
                self._thought = True
            events.append(event)
        return events

    def _blocks(self, content: object, events: list[ProviderEvent]) -> str:
        """Read content that comes as a list of typed blocks."""
        texts: list[str] = []
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            if block.get("type") == "thinking":
                self._thought = True
                events.append(ReasoningChunk(text=_block_text(block.get("thinking"))))
            else:
                texts.append(_block_text(block.get("text")))
        return "".join(texts)

    def _finish(self, reason: object, choice: Mapping[str, object]) -> None:
        if reason == "error":
            raise self._failures.in_answer(choice.get("error") or "the server stopped with an error")
        if not isinstance(reason, str) or reason not in REASONS:
            log.warning("%s: unknown finish_reason %r is taken as stop", self._failures.name, reason)
        self._reason = str(reason)

    def _stop_reason(self) -> StopReason:
        """Translate the vendor's word; without one, calls speak for themselves."""
        reason = REASONS.get(self._reason, "stop")
        return "stop" if reason == "tool_calls" and not self._calls else reason

    def _note_names(self, chunk: Mapping[str, object]) -> None:
        model, vendor_id = chunk.get("model"), chunk.get("id")
        self.model = self.model or (model if isinstance(model, str) else "")
        self.vendor_id = self.vendor_id or (vendor_id if isinstance(vendor_id, str) else "")


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
    return value if type(value) is int and value >= 0 else None
