"""The provider over the embedded model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import orjson

from ...ports.clock import Ids
from ...types.completion import CallReady, Finished, ProviderEvent, Request, TextChunk, UsageReported
from ...types.errors import BadRequest, ContextOverflow, EmptyAnswer
from ...types.messages import Message
from ...types.tools import ToolCall, ToolSpec
from ...types.usage import Usage
from .choose import ANSWER, Menu, choose, grammar_of, make_menu, question, read_value, required_fields
from .engine import CONTEXT_TOKENS, Engine, complete

MODEL = "SmolLM2-135M-Instruct"
LABEL = "demo model: tiny, not for work"
SYSTEM = "You are a helpful assistant. Answer in one short sentence."
"""With the template's own system prompt the model loops; with this one it answers plain questions."""

CHARS_PER_TOKEN = 3
"""Low, so that the estimate errs on the safe side for text that is not English."""

PROMPT_CHARS = (CONTEXT_TOKENS - 400) * CHARS_PER_TOKEN
RESULT_CHARS = 1_500
EARLIER_MESSAGES = 4
TOP = 2_000
REPEAT_PENALTY = 1.12
"""Against loops; more of it makes so small a model invent words."""


class LocalProvider:
    """A tiny model in this process.

    It chooses between answering and the tools of the request, then fills in
    the required arguments under a grammar. After a tool's result it can only
    answer, so it cannot loop.
    """

    def __init__(self, *, name: str, engine: Engine, ids: Ids, answer_tokens: int = 160) -> None:
        self.name = name
        self.model = MODEL
        self.label = LABEL
        self._engine = engine
        self._ids = ids
        self._answer_tokens = answer_tokens
        self._menus: dict[tuple[ToolSpec, ...], Menu] = {}

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        """Ask the model once.

        Raises:
            ContextOverflow: the last message is longer than the model's window.
            BadRequest: an image or file was sent to a model that reads text only.
            ConfigError: the package or the weights are not installed.
        """
        last = request.messages[-1]
        self._check(request.messages)
        if last.role == "user" and request.tools:
            call = await self._wanted_call(request.tools, last.text)
            if call is not None:
                yield CallReady(call=call)
                yield Finished(reason="tool_calls", model=MODEL)
                return
        async for event in self._answer(request):
            yield event

    async def _answer(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        limit = request.options.max_output_tokens or self._answer_tokens
        body = {
            "messages": chat_messages(request.messages),
            "max_tokens": min(limit, self._answer_tokens),
            "temperature": request.options.temperature or 0,
            "repeat_penalty": REPEAT_PENALTY,
            "stop": ["\n\n"],
            "stream_options": {"include_usage": True},
        }
        usage, reason, said = None, "stop", False
        stream = self._engine.stream(body)
        try:
            async for chunk in stream:
                usage = chunk.get("usage") or usage
                for choice in chunk.get("choices", ())[:1]:
                    reason = choice.get("finish_reason") or reason
                    if text := choice.get("delta", {}).get("content"):
                        said = True
                        yield TextChunk(text=text)
        finally:
            await stream.aclose()
        if not said:
            raise EmptyAnswer("the demo model gave no text", hint="ask in other words, or configure a larger model")
        if usage is not None:
            yield UsageReported(usage=_usage(usage))
        yield Finished(reason="length" if reason == "length" else "stop", model=MODEL)

    async def _wanted_call(self, tools: tuple[ToolSpec, ...], text: str) -> ToolCall | None:
        menu = self._menus.get(tools)
        if menu is None:
            menu = await self._engine.call(lambda server: make_menu(tools, _Top(server)))
            self._menus[tools] = menu
        known = menu
        name = await self._engine.call(lambda server: choose(known, text, _Top(server)))
        if name == ANSWER:
            return None
        tool = next(tool for tool in tools if tool.name == name)
        prompt = f"{question(known, text)} {known.labels[name]}\n"
        arguments = await self._engine.call(lambda server: _fill(server, prompt, tool))
        raw = orjson.dumps(arguments).decode()
        return ToolCall(id=self._ids.new("call"), name=name, arguments=arguments, raw=raw, dialect="local")

    def _check(self, messages: Sequence[Message]) -> None:
        last = messages[-1]
        if last.parts:
            raise BadRequest(
                f"{MODEL} reads text only, not images or files",
                hint="configure a provider whose model has vision",
            )
        if last.role == "user" and len(last.text) > PROMPT_CHARS:
            raise ContextOverflow(
                f"{len(last.text):,} characters are more than the demo model's window of about {PROMPT_CHARS:,}",
                hint="send less, or configure a larger model",
            )


class _Top:
    """The likeliest next tokens after a prompt."""

    def __init__(self, server: Any) -> None:
        self._server = server

    def __call__(self, prompt: str) -> Mapping[str, float]:
        body = {"prompt": prompt, "max_tokens": 1, "logprobs": TOP, "temperature": 0, "cache_prompt": True}
        answer = complete(self._server, body)
        words = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        return {word["token"]: word["logprob"] for word in words}


def _fill(server: Any, prompt: str, tool: ToolSpec) -> dict[str, object]:
    """Let the model write each required argument on a line of its own."""
    arguments: dict[str, object] = {}
    for field, schema in required_fields(tool.schema).items():
        prompt += f"{field}:"
        body: dict[str, object] = {"prompt": prompt, "max_tokens": 60, "temperature": 0, "cache_prompt": True}
        grammar = grammar_of(schema)
        body.update({"grammar": grammar} if grammar else {"json_schema": dict(schema)})
        text = complete(server, body)["choices"][0]["text"]
        arguments[field] = read_value(schema, text)
        prompt += text if text.endswith("\n") else text + "\n"
    return arguments


def chat_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Turn a history into what the small window holds: a short system prompt, the last turns, results as text."""
    out: list[dict[str, str]] = []
    room = PROMPT_CHARS
    for message in reversed(messages):
        text = _said(message)
        if message.role == "system" or not text:
            continue
        room -= len(text)
        if out and (room < 0 or len(out) > EARLIER_MESSAGES):
            break
        out.append({"role": "assistant" if message.role == "assistant" else "user", "content": text})
    return [{"role": "system", "content": SYSTEM}, *_merged(reversed(out))]


def _said(message: Message) -> str:
    if message.role != "tool":
        return message.text
    text = message.text or "(no output)"
    shown = text if len(text) <= RESULT_CHARS else text[:RESULT_CHARS] + " ..."
    return f"The result is:\n{shown}\n\nAnswer in one short sentence."


def _merged(messages: Any) -> list[dict[str, str]]:
    """Join neighbours of one role: the template wants user and assistant in turn."""
    out: list[dict[str, str]] = []
    for message in messages:
        if out and out[-1]["role"] == message["role"]:
            out[-1]["content"] += "\n\n" + message["content"]
        else:
            out.append(message)
    if out and out[0]["role"] == "assistant":
        del out[0]
    return out


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(input=usage.get("prompt_tokens"), output=usage.get("completion_tokens"))
