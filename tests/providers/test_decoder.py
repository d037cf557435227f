"""What chunks and bodies of real servers become: the quirks, one by one, without a network."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.providers._chat.answer import Answer
from ferrule.providers._chat.decoder import read_usage
from ferrule.types.completion import Finished, ReasoningChunk, TextChunk
from ferrule.types.errors import (
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    EmptyAnswer,
    Overloaded,
    ProviderError,
    RateLimited,
    StreamBroken,
)
from ferrule.types.usage import Usage
from tests.providers._ask import calls_of, reasoning_of, text_of, usage_of
from tests.providers._decode import FAILURES, decode, piece, plain
from tests.providers._vendor import delta, sse


def refused(*pieces: bytes) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        decode(*pieces)
    return caught.value


class TestText:
    def test_a_preamble_without_choices_and_null_content_say_nothing(self) -> None:
        events = decode(
            sse(
                {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
                {"choices": [{"delta": {"role": "assistant", "content": None}}]},
                {"choices": [{"delta": {"content": "hi"}}]},
                "[DONE]",
            )
        )
        assert events == [TextChunk(text="hi"), Finished(reason="stop")]

    @pytest.mark.parametrize("nothing", ["", None])
    def test_an_empty_reason_is_none_and_the_end_mark_ends_the_answer(
        self, nothing: str | None, caplog: pytest.LogCaptureFixture
    ) -> None:
        chunks = (delta(nothing, content="He"), delta(nothing, content="llo"))
        assert text_of(decode(sse(*chunks, "[DONE]"))) == "Hello"
        assert isinstance(refused(sse(*chunks)), StreamBroken)
        assert caplog.text == ""

    def test_nothing_behind_the_end_mark_counts(self) -> None:
        assert text_of(decode(sse(delta(content="a"), "[DONE]", delta(content="b")))) == "a"

    def test_the_end_mark_is_known_without_its_space_and_without_its_empty_line(self) -> None:
        assert text_of(decode(sse(delta(content="a")) + b"data:[DONE]")) == "a"

    def test_a_last_event_without_its_empty_line_counts(self) -> None:
        assert text_of(decode(sse(delta(content="a"), delta("stop")).rstrip())) == "a"

    def test_content_in_blocks_is_joined_and_thinking_blocks_are_reasoning(self) -> None:
        thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
        events = decode(sse(delta(content=[thinking, {"type": "text", "text": "Hi"}, 7]), delta("stop")))
        assert (text_of(events), reasoning_of(events)) == ("Hi", "hm")
        assert refused(sse(delta(content={"odd": 1}), delta("stop"))).code == "provider.empty_answer"

    def test_a_refusal_is_said(self) -> None:
        assert text_of(decode(plain({"content": None, "refusal": "I will not."}))) == "I will not."

    def test_a_whole_message_behind_a_stream_is_a_repetition(self) -> None:
        last = {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}
        assert text_of(decode(sse(delta(content="Hello"), last))) == "Hello"
        assert text_of(decode(sse(last))) == "Hello"

    def test_think_tags_split_over_chunks_are_reasoning(self) -> None:
        events = decode(sse(*[delta(content=t) for t in ("<thi", "nk>secret plan</th", "ink>Hello")], "[DONE]"))
        assert (text_of(events), reasoning_of(events)) == ("Hello", "secret plan")

    def test_an_unclosed_think_tag_still_gives_an_answer(self) -> None:
        assert text_of(decode(sse(delta(content="<think>it is 4"), delta("stop")))) == "it is 4"

    def test_half_a_surrogate_pair_is_replaced_and_the_rest_stays(self) -> None:
        body = b'data: {"choices":[{"delta":{"content":"ok \\ud83d"},"finish_reason":"stop"}]}\n\n'
        assert text_of(decode(body)) == "ok \ufffd"

    def test_chunks_and_choices_of_other_shapes_say_nothing(self) -> None:
        odd: list[object] = [{"choices": {}}, {"choices": ["x"]}, {"choices": [{}]}, {"choices": [{"delta": "x"}]}, ""]
        assert text_of(decode(sse(*odd, delta(content="a"), delta("stop")))) == "a"

    def test_the_first_character_decides_what_a_body_is(self) -> None:
        body = plain({"content": "hi"})
        assert text_of(decode(b" \r\n", body[:5], body[5:])) == "hi"
        assert text_of(decode(b"\xef\xbb\xbf" + body)) == "hi"
        assert text_of(decode(b"\xef", b"\xbb\xbf" + sse(delta("stop", content="a")))) == "a"


class TestReasoning:
    @pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
    def test_its_field_is_named_and_an_empty_one_is_kept(self, field: str) -> None:
        events = decode(sse(delta(**{field: ""}), delta(**{field: ""}), delta(content="a"), delta("stop")))
        assert events[0] == ReasoningChunk(text="", field=field)
        assert sum(isinstance(e, ReasoningChunk) for e in events) == 1

    def test_two_fields_with_the_same_text_are_read_once(self) -> None:
        both = delta(reasoning_content="hm", reasoning="hm")
        assert reasoning_of(decode(sse(both, both, delta("stop", content="a")))) == "hmhm"

    def test_reasoning_alone_is_an_answer_but_empty_reasoning_is_none(self) -> None:
        assert decode(sse(delta(reasoning="hm"), delta("stop")))[-1] == Finished(
            reason="stop", model="m-real", vendor_id="c1"
        )
        assert isinstance(refused(sse(delta(reasoning=""), delta("stop"))), EmptyAnswer)


class TestUsage:
    def test_it_may_come_behind_the_reason_in_every_chunk_or_never(self) -> None:
        first = {**delta(content="ok"), "usage": {"prompt_tokens": 11, "completion_tokens": 1}}
        last = {**delta("stop"), "usage": {"prompt_tokens": 11, "completion_tokens": 2}}
        tail: dict[str, object] = {"choices": [], "usage": None}
        assert usage_of(decode(sse(first, last, tail, "[DONE]"))) == [Usage(input=11, output=2)]
        assert usage_of(decode(sse(delta("stop", content="ok"), {"choices": [], "usage": last["usage"]}))) == [
            Usage(input=11, output=2)
        ]
        assert usage_of(decode(sse(delta("stop", content="ok")))) == []

    def test_details_are_read_and_nonsense_is_not(self) -> None:
        assert read_usage(
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 3},
            }
        ) == Usage(input=10, cached=4, output=5, reasoning=3)
        assert read_usage({"prompt_tokens": 10, "prompt_cache_hit_tokens": 6}) == Usage(input=10, cached=6)
        assert read_usage({"prompt_tokens": -1, "completion_tokens": "5"}) is None


class TestBroken:
    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"  ",
            b": ping\n\n",
            sse(delta(content="a")),
            b"data: {not json}\n\n",
            b"data: [1]\n\n",
            b'data: {"choices":[{"delta":{"content":"\xff\xfe"}}]}\n\n',
            b'data: {"choices":[{"delta":{"content":"\\ud83d \xff"}}]}\n\n',
            b'{"choices":[{"message":{"content":"a',
            b"[1]",
        ],
    )
    def test_what_does_not_end_properly_is_broken(self, body: bytes) -> None:
        assert isinstance(refused(body), StreamBroken)

    def test_a_web_page_is_no_api(self) -> None:
        error = refused(b"<!doctype html><h1>Sign in</h1>")
        assert isinstance(error, BadRequest)
        assert "base_url" in (error.hint or "")

    def test_an_answer_of_nothing_is_empty(self) -> None:
        for body in (plain({"content": ""}), plain({"content": " \n"}), b'{"choices":[]}', sse("[DONE]")):
            assert isinstance(refused(body), EmptyAnswer)
        assert refused(sse(delta("length"))).hint == "raise max_output_tokens"

    def test_a_filtered_answer_is_no_empty_one(self) -> None:
        last = decode(sse(delta("content_filter")))[-1]
        assert isinstance(last, Finished)
        assert last.reason == "content_filter"

    def test_an_unknown_reason_is_taken_as_stop_and_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        last = decode(sse(delta("eos_token", content="a")))[-1]
        assert isinstance(last, Finished)
        assert last.reason == "stop"
        assert "eos_token" in caplog.text

    @pytest.mark.parametrize(
        ("error", "kind"),
        [
            ({"type": "overloaded_error", "message": "try later", "code": 529}, Overloaded),
            ({"type": "overloaded_error", "message": "try later"}, Overloaded),
            ({"type": "server_error", "message": "x"}, Overloaded),
            ({"type": "invalid_request_error", "message": "no such tool"}, BadRequest),
            ({"code": "rate_limit_exceeded", "message": "slow down"}, RateLimited),
            ({"code": "context_length_exceeded", "message": "long"}, ContextOverflow),
            ({"type": "authentication_error", "message": "who?"}, AuthenticationFailed),
            ({"code": 401, "message": "who?"}, AuthenticationFailed),
            ({"type": "strange", "message": "x"}, StreamBroken),
            ("Service is overloaded", Overloaded),
            ({"message": ""}, StreamBroken),
        ],
    )
    def test_an_error_inside_an_answer_keeps_its_kind_and_words(self, error: object, kind: type[ProviderError]) -> None:
        for body in (sse(delta(content="Par"), {"error": error}), json.dumps({"error": error}).encode()):
            raised = refused(body)
            assert type(raised) is kind
            if isinstance(error, dict):
                assert str(error["message"]) in str(raised)

    def test_errors_in_older_shapes_are_errors_too(self) -> None:
        assert isinstance(refused(sse({"object": "error", "message": "bad", "type": "BadRequestError"})), BadRequest)
        assert isinstance(refused(sse({"choices": [{"delta": {}, "finish_reason": "error"}]})), ProviderError)
        assert "sk-canary" not in str(refused(sse({"error": "key sk-canary is bad"})))


WHOLE = (
    b": hello\r\n\r\n"
    + sse(
        delta(reasoning="denk"),
        delta(content="北京🌧"),
        delta(content="<b>"),
        delta(tool_calls=[piece('{"a"', name="f")]),
    )
    + sse(delta(tool_calls=[piece(":1}")])).replace(b"\n", b"\r\n")
    + sse(delta("tool_calls"), {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}, "[DONE]")
)


@pytest.mark.property
@given(st.lists(st.integers(0, len(WHOLE)), max_size=10).map(sorted))
def test_however_the_network_cuts_the_bytes_the_events_are_the_same(cuts: list[int]) -> None:
    edges = [0, *cuts, len(WHOLE)]
    assert decode(*[WHOLE[a:b] for a, b in itertools.pairwise(edges)]) == decode(WHOLE)


@pytest.mark.parametrize("size", [1, 7])
def test_bytes_that_come_singly_are_the_same_text(size: int) -> None:
    assert decode(*[WHOLE[i : i + size] for i in range(0, len(WHOLE), size)]) == decode(WHOLE)
    assert text_of(decode(WHOLE)) == "北京🌧<b>"


@pytest.mark.property
@given(st.integers(0, len(WHOLE)))
def test_wherever_an_answer_is_cut_no_call_comes_out_unless_it_had_ended(cut: int) -> None:
    answer = Answer(FAILURES, made_ids="call_1")
    events = list(answer.feed(WHOLE[:cut])) if cut else []
    try:
        events += list(answer.end())
    except StreamBroken:
        assert not calls_of(events)
        assert not any(isinstance(e, Finished) for e in events)
    else:
        assert events[-1].__class__ is Finished
        assert [c.arguments for c in calls_of(events)] == [{"a": 1}]
