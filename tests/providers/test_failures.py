"""What a vendor's refusal becomes, and what never enters an error."""

from __future__ import annotations

import pytest

from ferrule.providers._chat.failures import Failures, parse_report, refused_parameters, secrets_in
from ferrule.providers._retry_after import LONGEST_S, retry_after_s
from ferrule.types.errors import (
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    Overloaded,
    ProviderError,
    RateLimited,
)

FAILURES = Failures("openai.main", "m-9", ("canary-key", "canary"))


def of(status: int, body: bytes = b"", **headers: str) -> ProviderError:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return FAILURES.of_status(status, fields, body, now_s=0.0)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, b"", AuthenticationFailed),
        (403, b'{"error":{"message":"no"}}', AuthenticationFailed),
        (404, b'{"error":{"message":"no such model"}}', BadRequest),
        (405, b"", BadRequest),
        (400, b'{"error":{"message":"odd"}}', BadRequest),
        (422, b'{"detail":[{"loc":["body"],"msg":"odd"}]}', BadRequest),
        (400, b'{"error":{"code":"context_length_exceeded"}}', ContextOverflow),
        (400, b'{"error":{"message":"This model\'s maximum context length is 8192 tokens"}}', ContextOverflow),
        (400, b'{"error":"prompt is too long: 9 > 8"}', ContextOverflow),
        (400, b'{"error":{"message":"the request exceeds the available context size"}}', ContextOverflow),
        (413, b"", ContextOverflow),
        (500, b'{"error":{"code":"context_length_exceeded"}}', ContextOverflow),
        (429, b"", RateLimited),
        (429, b'{"error":{"code":"insufficient_quota","message":"x"}}', BadRequest),
        (402, b"", BadRequest),
        (408, b"", Overloaded),
        (500, b"oops", Overloaded),
        (503, b"<html>busy</html>", Overloaded),
        (529, b'{"type":"error","error":{"type":"overloaded_error","message":"x"}}', Overloaded),
        (302, b"", BadRequest),
        (204, b"", BadRequest),
    ],
)
def test_every_status_has_its_error(status: int, body: bytes, kind: type[ProviderError]) -> None:
    error = of(status, body)
    assert type(error) is kind
    assert str(error).startswith(f"openai.main: HTTP {status}")


def test_hints_say_what_to_do() -> None:
    assert of(401).hint == "check the api_key of [providers.openai.main]"
    assert "'m-9'" in (of(404).hint or "")
    assert "billing" in (of(402).hint or "")
    assert "base_url" in (of(301).hint or "")


def test_the_vendors_words_are_shown_without_secrets_line_breaks_or_pages() -> None:
    echoed = b'{"error":{"type":"auth","message":"key canary-key\\n of canary is bad"}}'
    assert str(of(401, echoed)) == "openai.main: HTTP 401: auth: key *** of *** is bad"
    assert str(of(502, b"<html>nginx</html>")) == "openai.main: HTTP 502"
    assert len(str(of(500, b"x" * 100_000))) < 1_000
    assert str(of(500, b"\xff")) == "openai.main: HTTP 500: \ufffd"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"error":{"message":"a"}}', "a"),
        (b'{"error":"a"}', "a"),
        (b'{"detail":"a"}', "a"),
        (b'[{"error":{"message":"a","status":"INVALID"}}]', "a"),
        (b'"a"', "a"),
        (b"[]", ""),
        (b"7", ""),
        (b"{}", ""),
    ],
)
def test_reports_are_read_in_all_their_usual_forms(body: bytes, text: str) -> None:
    assert parse_report(body).text == text


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:05 GMT"}, 5.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:05 -0000"}, 5.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:05 GMT"}, 0.0),
        ({"retry-after": "86400"}, 86_400.0),
        ({"retry-after": "3, 9"}, 9.0),
        ({"retry-after": "3, soon"}, None),
        ({"retry-after": "Wed Oct 21 07:28:05 2026"}, 5.0),
        ({"retry-after": "Wednesday, 21-Oct-26 07:28:05 GMT"}, 5.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:05 +99999999999999999999"}, None),
        ({"retry-after": "9" * 400}, LONGEST_S),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": "\u0663"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait_is_read_from_seconds_dates_and_nonsense(headers: dict[str, str], wait: float | None) -> None:
    assert retry_after_s(headers, now_s=1_792_567_680.0) == wait


@pytest.mark.parametrize("depth", [900, 1_010, 5_000])
def test_a_report_that_is_too_deep_is_shown_as_text(depth: int) -> None:
    nested = of(400, b'{"error":' * depth + b'"x"' + b"}" * depth)
    assert type(nested) is BadRequest
    assert "error" in str(nested)
    listed = of(400, b'{"error":{"message":' + b"[" * depth + b"]" * depth + b"}}")
    assert type(listed) is BadRequest


def test_a_rate_limit_carries_the_wait() -> None:
    error = of(429, retry_after="7")
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == 7.0


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("Unsupported parameter: 'temperature' is not supported with this model.", {"temperature"}),
        ("Unrecognized request argument supplied: stream_options", {"stream_options"}),
        ("Use 'max_completion_tokens', not max_tokens", {"max_tokens"}),
        ("Invalid 'temperature': decimal above maximum value. Expected a value <= 2", set()),
        ("max_tokens is too large: 99999", set()),
        ("temperature-like things are odd", set()),
        ("the context length is exceeded, lower max_tokens", set()),
        ("something else", set()),
    ],
)
def test_only_a_parameter_refused_as_such_is_left_out(text: str, refused: set[str]) -> None:
    sent = {"temperature", "max_tokens", "stream_options"}
    assert refused_parameters(b'{"error":{"message":"%b"}}' % text.encode(), sent) == refused


def test_a_parameter_named_in_its_own_field_counts_if_it_was_sent() -> None:
    body = b'{"error":{"message":"not here","param":"temperature"}}'
    assert refused_parameters(body, {"temperature", "max_tokens"}) == {"temperature"}
    assert refused_parameters(body, {"max_tokens"}) == set()


def test_secrets_of_an_address_are_its_user_part_and_query_values() -> None:
    found = secrets_in("https://u:p%40ssword@h/x?key=canary-1&v=1", "k-12345", None)
    assert sorted(found) == ["canary-1", "k-12345", "p%40ssword", "p@ssword"]
    assert [len(secret) for secret in found] == [10, 8, 8, 7]  # a secret inside another does not hide it
    assert secrets_in("https://token-1@h/") == ("token-1",)
    assert secrets_in("https://h/") == ()


def test_a_refused_key_of_the_environment_is_called_by_its_variable() -> None:
    error = Failures("openai.environment").of_status(401, {}, b"{}", now_s=0)
    assert error.hint == "check OPENAI_API_KEY in the environment"
