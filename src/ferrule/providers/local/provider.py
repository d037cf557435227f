"""The provider over a model in a child process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import orjson

from ...ports.clock import Ids
from ...types.completion import CallReady, Finished, ProviderEvent, Request, UsageReported
from ...types.errors import BadRequest, ContextOverflow, EmptyAnswer
from ...types.messages import Message
from ...types.tools import ToolCall, ToolSpec
from ...types.usage import Usage
from .._chat.decoder import Decoder, read_usage
from .._chat.failures import Failures
from .._chat.request import RequestWriter
from .choose import ANSWER, Menu, choose, grammar_of, make_menu, question, read_value, required_fields
from .engine import Engine
from .gguf import ModelFacts
from .shown import PROMPT_CHARS, demo_messages, plain_messages

DEMO_MODEL = "SmolLM2-135M-Instruct"
DEMO_LABEL = "demo model: tiny, not for work"
DEMO_ANSWER = 160
USUAL_ANSWER = 2_048
TOP = 2_000
REPEAT_PENALTY = 1.12
"""Against loops of the demo model; more of it makes so small a model invent words."""


class LocalProvider:
    """A model on this machine.

    A model whose template has a place for tools is asked in its own way. Any
    other chooses between answering and the tools of the request, then fills
    in the required arguments under a grammar; after a tool's result it can
    only answer, so it cannot loop.
    """

    def __init__(
        self, *, name: str, engine: Engine, ids: Ids, facts: ModelFacts, is_demo: bool, answer_tokens: int
    ) -> None:
        self.name = name
        self.model = DEMO_MODEL if is_demo else facts.title
        self.label = DEMO_LABEL if is_demo else "on this machine"
        self.engine, self._ids, self._facts, self._is_demo = engine, ids, facts, is_demo
        self._answer_tokens = answer_tokens
        self._failures = Failures(name, self.model)
        self._writer = RequestWriter(model=self.model)
        self._menus: dict[tuple[ToolSpec, ...], Menu] = {}

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        """Ask the model once; closing the iterator stops the model at once.

        Raises:
            ContextOverflow: the request is longer than the model's window.
            BadRequest: an image or file was sent to a model that reads text only.
            ConfigError: the package or the weights are not installed, or the file cannot be loaded.
        """
        last = request.messages[-1]
        self._check(last)
        spent = _Spent()
        chooses = request.tools and not self._facts.reads_tools and request.options.allow_calls is not False
        if chooses and last.role == "user":
            call = await self._wanted_call(request.tools, last.text, spent)
            if call is not None:
                yield CallReady(call=call)
                yield UsageReported(usage=spent.usage)
                yield Finished(reason="tool_calls", model=self.model)
                return
        async with aclosing(self._answer(request, spent)) as events:
            async for event in events:
                yield event

    async def _answer(self, request: Request, spent: _Spent) -> AsyncGenerator[ProviderEvent, None]:
        decoder = Decoder(self._failures, made_ids=f"call_{request.id.removeprefix('req_')}")
        decoder.model = self.model
        async with aclosing(self.engine.stream("chat", self._body(request))) as chunks:
            async for chunk in chunks:
                for event in decoder.event(chunk):
                    yield event
        try:
            for event in decoder.end():
                yield UsageReported(usage=spent.usage + event.usage) if isinstance(event, UsageReported) else event
        except EmptyAnswer as error:
            hint = "ask in other words, or configure a larger model"
            raise EmptyAnswer(f"{self.name}: {self.model} gave no text", hint=hint) from error

    def _body(self, request: Request) -> dict[str, object]:
        limit = min(request.options.max_output_tokens or self._answer_tokens, self._answer_tokens)
        if self._is_demo:
            return {
                "messages": demo_messages(request.messages),
                "max_tokens": limit,
                "temperature": request.options.temperature or 0,
                "repeat_penalty": REPEAT_PENALTY,
                "stop": ["\n\n"],
                "stream_options": {"include_usage": True},
            }
        body: dict[str, object] = orjson.loads(self._writer.body(request))
        body |= {"max_tokens": limit, "stream_options": {"include_usage": True}}
        if not self._facts.reads_tools:
            body["messages"] = plain_messages(request.messages)
            for name in ("tools", "tool_choice", "parallel_tool_calls"):
                body.pop(name, None)
        return body

    async def _wanted_call(self, tools: tuple[ToolSpec, ...], text: str, spent: _Spent) -> ToolCall | None:
        top = _Top(self.engine, self._failures, spent)
        menu = self._menus.get(tools)
        if menu is None:
            menu = self._menus[tools] = await make_menu(tools, top)
        name = await choose(menu, text, top)
        if name == ANSWER:
            return None
        tool = next(tool for tool in tools if tool.name == name)
        prompt = f"{question(menu, text)} {menu.labels[name]}\n"
        arguments = await top.fill(prompt, tool)
        raw = orjson.dumps(arguments).decode()
        return ToolCall(id=self._ids.new("call"), name=name, arguments=arguments, raw=raw, dialect="local")

    def _check(self, last: Message) -> None:
        if last.parts:
            raise BadRequest(
                f"{self.model} reads text only here, not images or files",
                hint="configure a provider whose model has vision",
            )
        if self._is_demo and last.role == "user" and len(last.text) > PROMPT_CHARS:
            raise ContextOverflow(
                f"{len(last.text):,} characters are more than the demo model's window of about {PROMPT_CHARS:,}",
                hint="send less, or configure a larger model",
            )


class _Spent:
    """Tokens of one request before its answer."""

    def __init__(self) -> None:
        self.usage = Usage()


class _Top:
    """Completes prompts, and adds up what that cost."""

    def __init__(self, engine: Engine, failures: Failures, spent: _Spent) -> None:
        self._engine, self._failures, self._spent = engine, failures, spent

    async def __call__(self, prompt: str) -> Mapping[str, float]:
        """Return the likeliest next tokens after a prompt."""
        body = {"prompt": prompt, "max_tokens": 1, "logprobs": TOP, "temperature": 0, "cache_prompt": True}
        for choice in await self._choices(body):
            words = (choice.get("logprobs") or {}).get("content")
            if words:
                return {word["token"]: word["logprob"] for word in words[0]["top_logprobs"]}
        return {}

    async def fill(self, prompt: str, tool: ToolSpec) -> dict[str, object]:
        """Let the model write each required argument on a line of its own."""
        arguments: dict[str, object] = {}
        for field, schema in required_fields(tool.schema).items():
            prompt += f"{field}:"
            body: dict[str, object] = {"prompt": prompt, "max_tokens": 60, "temperature": 0, "cache_prompt": True}
            grammar = grammar_of(schema)
            body.update({"grammar": grammar} if grammar else {"json_schema": dict(schema)})
            text = "".join([choice.get("text") or "" for choice in await self._choices(body)])
            arguments[field] = read_value(schema, text)
            prompt += text if text.endswith("\n") else text + "\n"
        return arguments

    async def _choices(self, body: Mapping[str, object]) -> Sequence[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        wanted = {**body, "stream_options": {"include_usage": True}}
        for chunk in await self._engine.complete(wanted):
            if "error" in chunk:
                raise self._failures.in_answer(chunk["error"])
            found += chunk.get("choices", ())[:1]
            usage = read_usage(chunk.get("usage") or {})
            if usage is not None:
                self._spent.usage = self._spent.usage + usage
        return found
