"""Refusals over a real socket: each becomes its error, and each error says what to do."""

from __future__ import annotations

import pytest

from ferrule.core.agent import Agent
from ferrule.testing.gates import allow_all
from ferrule.types.errors import (
    AuthenticationFailed,
    BadRequest,
    ConnectionFailed,
    ContextOverflow,
    Overloaded,
    ProviderError,
    StreamBroken,
)
from tests.providers._ask import text_of, usage_of
from tests.providers._vendor import Act, Step, streamed, vendor, whole
from tests.providers.ollama._ask import answered, end, failure, line, lines, provider_at, refused

MISSING = refused("model 'm' not found", status="404 Not Found")


async def test_a_missing_model_is_pulled_or_another_one_used() -> None:
    async with vendor(MISSING, answered({"models": [{"name": "a:1b"}, {"model": "b:2b"}, "odd"]})) as server:
        _, error = await failure(server)
    assert isinstance(error, BadRequest)
    assert "model 'm' not found" in str(error)
    assert error.hint == "run `ollama pull m`, or use one that is there: a:1b, b:2b"
    assert [a.line.split()[1] for a in server.asked] == ["/api/chat", "/api/tags"]


@pytest.mark.parametrize(
    "tags",
    [answered({"models": []}), answered({}), answered([]), whole(b"<html>"), whole(b"", status="500 Oops"), [Act.DROP]],
)
async def test_a_missing_model_is_pulled_also_when_the_server_names_no_other(tags: list[Step]) -> None:
    async with vendor(MISSING, tags) as server:
        _, error = await failure(server)
    assert (type(error), error.hint) == (BadRequest, "run `ollama pull m`")


async def test_a_server_that_does_not_run_is_started() -> None:
    async with provider_at("http://127.0.0.1:1") as provider:
        with pytest.raises(ConnectionFailed) as caught:
            await provider.models()
    assert "connection refused" in str(caught.value)
    assert "`ollama serve`" in str(caught.value.hint)
    async with vendor([Act.DROP]) as server:
        _, error = await failure(server)
    assert isinstance(error, ConnectionFailed)
    assert "`ollama serve`" in str(error.hint)


@pytest.mark.parametrize(
    ("refusal", "kind", "advice"),
    [
        (refused('"m" does not support tools'), BadRequest, "tools = []"),
        (refused('"m" does not support thinking'), BadRequest, "take `think` out of [providers.ollama.main]"),
        (whole(b"404 page not found", status="404 Not Found"), BadRequest, "without /api"),
        (
            refused(
                "model requires more system memory (5.6 GiB) than is available", status="500 Internal Server Error"
            ),
            BadRequest,
            "lower num_ctx of [providers.ollama.main]",
        ),
        (refused("unauthorized", status="401 Unauthorized"), AuthenticationFailed, "api_key"),
    ],
)
async def test_a_refusal_says_what_to_do(refusal: list[Step], kind: type[ProviderError], advice: str) -> None:
    async with vendor(refusal) as server:
        events, error = await failure(server)
    assert type(error) is kind
    assert advice in str(error.hint)
    assert (events, len(server.asked)) == ([], 1)


async def test_a_conversation_too_long_names_what_the_model_could_take() -> None:
    refusal = refused("the input length exceeds the context length")
    facts = answered({"capabilities": ["completion"], "model_info": {"x.context_length": 131_072, "x.heads": 4}})
    async with vendor(refusal, facts) as server:
        _, error = await failure(server)
    assert isinstance(error, ContextOverflow)
    assert str(error.hint).endswith("num_ctx of [providers.ollama.main] can be raised, the model takes up to 128k")
    async with vendor(refusal) as server:  # and stays an error of length when the server says no more
        _, error = await failure(server)
    assert isinstance(error, ContextOverflow)
    assert str(error.hint).endswith("num_ctx of [providers.ollama.main] can be raised")


async def test_a_person_reads_that_the_context_can_be_raised_also_when_nothing_more_can_be_left_out() -> None:
    async with vendor(refused("the input length exceeds the context length")) as server:
        async with provider_at(server.url) as provider:
            result = await Agent(provider, gate=allow_all()).send("hi")
    assert result.error
    assert result.error.code == "provider.context_overflow"
    assert "num_ctx of [providers.ollama.main] can be raised" in result.error.message


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("an error was encountered while running the model: unexpected EOF", StreamBroken),
        ("server busy, please try again", Overloaded),
        ("model 'm' not found", BadRequest),
    ],
)
async def test_an_error_inside_a_stream_fails_the_attempt_with_the_servers_words(
    text: str, kind: type[ProviderError]
) -> None:
    async with vendor(streamed(lines(line("Par"), {"error": text}, end()))) as server:
        events, error = await failure(server)
    assert text_of(events) == "Par"
    assert type(error) is kind
    assert text in str(error)


async def test_a_server_that_echoes_the_key_does_not_make_us_show_it() -> None:
    async with vendor(refused("bad key sk-canary-1", status="401 Unauthorized")) as server:
        _, error = await failure(server, api_key="sk-canary-1")
    assert "sk-canary" not in f"{error!r} {error.hint}"


async def test_what_an_empty_answer_cost_is_reported_before_the_error() -> None:
    async with vendor(streamed(lines(end(prompt_eval_count=11)))) as server:
        events, _ = await failure(server)
    assert [(u.input, u.output) for u in usage_of(events)] == [(11, None)]
