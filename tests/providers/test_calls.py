"""Tool calls put together from the pieces in which servers send them."""

from __future__ import annotations

import time

import pytest

from ferrule.providers._chat.calls import CallAssembler
from ferrule.types.completion import Finished
from tests.providers._ask import calls_of
from tests.providers._decode import decode, piece, plain
from tests.providers._vendor import delta, sse


def calls(*pieces_of_chunks: list[dict[str, object]], finish: str = "tool_calls") -> list[tuple[str, str, str]]:
    chunks = [delta(tool_calls=pieces) for pieces in pieces_of_chunks]
    return [(c.id, c.name, c.raw) for c in calls_of(decode(sse(*chunks, delta(finish))))]


class TestPieces:
    def test_without_an_index_a_call_is_known_by_its_id(self) -> None:
        a = {"id": "t-aa", "type": "function", "function": {"name": "read_file", "arguments": '{"path":"one.txt"}'}}
        b = {"id": "t-bb", "type": "function", "function": {"name": "read_file", "arguments": '{"path":"two.txt"}'}}
        found = calls_of(decode(sse(delta(tool_calls=[a]), delta(tool_calls=[b]), delta("tool_calls"))))
        assert [(c.id, c.arguments) for c in found] == [("t-aa", {"path": "one.txt"}), ("t-bb", {"path": "two.txt"})]

    def test_a_piece_with_neither_index_nor_id_continues_the_call_that_is_arriving(self) -> None:
        assert calls([piece('{"a"', id="x", name="f")], [piece(":1}")]) == [("x", "f", '{"a":1}')]

    def test_an_id_repeated_in_every_piece_is_one_call(self) -> None:
        assert calls([piece('{"a"', id="x", name="f", index=0)], [piece(":1}", id="x", name="f", index=0)]) == [
            ("x", "f", '{"a":1}')
        ]
        assert calls([piece('{"a"', id="x", name="f")], [piece(":1}", id="x")]) == [("x", "f", '{"a":1}')]

    def test_several_calls_in_one_chunk_are_several(self) -> None:
        assert calls([piece("{}", id="x", name="f", index=0), piece("{}", id="y", name="g", index=1)]) == [
            ("x", "f", "{}"),
            ("y", "g", "{}"),
        ]

    def test_interleaved_pieces_go_to_their_index(self) -> None:
        got = calls(
            [piece('{"a"', id="x", name="f", index=0)],
            [piece('{"b"', id="y", name="g", index=1)],
            [piece(":1}", index=0), piece(":2}", index=1)],
        )
        assert got == [("x", "f", '{"a":1}'), ("y", "g", '{"b":2}')]

    def test_an_index_used_again_with_another_id_is_another_call(self) -> None:
        assert calls([piece("{}", id="x", name="f", index=0)], [piece("{}", id="y", name="f", index=0)]) == [
            ("x", "f", "{}"),
            ("y", "f", "{}"),
        ]

    def test_an_id_used_twice_for_whole_calls_is_two_calls_in_stream_and_body(self) -> None:
        first, second = piece('{"p":"a"}', id="call_0", name="f"), piece('{"p":"b"}', id="call_0", name="f")
        wanted = [("call_0", "f", '{"p":"a"}'), ("call_0", "f", '{"p":"b"}')]
        assert calls([first, second]) == wanted
        assert calls([first], [second]) == wanted
        body = decode(plain({"content": None, "tool_calls": [first, second]}))
        assert [(c.id, c.name, c.raw) for c in calls_of(body)] == wanted

    def test_a_whole_call_sent_again_is_one_call(self) -> None:
        again = piece('{"a":1}', id="x", name="f", index=0)
        assert calls([again], [again]) == [("x", "f", '{"a":1}')]

    def test_whole_calls_without_index_and_id_are_told_apart_and_get_unique_ids(self) -> None:
        assert calls([piece('{"a":1}', name="f")], [piece('{"a":2}', name="f")]) == [
            ("call_1_0", "f", '{"a":1}'),
            ("call_1_1", "f", '{"a":2}'),
        ]
        assert calls([piece("", name="f")], [piece("", name="g")]) == [("call_1_0", "f", ""), ("call_1_1", "g", "")]
        assert calls([piece("{}", name="f"), piece("{}", name="f")]) == [
            ("call_1_0", "f", "{}"),
            ("call_1_1", "f", "{}"),
        ]

    def test_a_made_id_avoids_the_ids_of_the_vendor(self) -> None:
        got = calls([piece("{}", name="f"), piece("{}", id="call_1_0", name="f")])
        assert got == [("call_1_0x", "f", "{}"), ("call_1_0", "f", "{}")]

    def test_an_object_too_deep_to_be_sent_back_is_a_fault_and_a_broad_one_is_not(self) -> None:
        deep, broad = '{"a":' * 300 + "1" + "}" * 300, '{"a":[' + ",".join(["{}"] * 300) + "]}"
        found = calls_of(decode(sse(delta(tool_calls=[piece(deep, id="x"), piece(broad, id="y")]), "[DONE]")))
        assert [call.fault is None for call in found] == [False, True]

    def test_a_whole_body_with_odd_entries_gives_the_others(self) -> None:
        body = decode(plain({"content": "a", "tool_calls": ["odd", piece("{}", id="x", name="f")]}))
        assert [c.id for c in calls_of(body)] == ["x"]

    def test_a_named_piece_that_goes_on_behind_a_brace_is_the_same_call(self) -> None:
        first, rest = piece('{"a":{"b":1}', id="x", name="f", index=0), piece(',"c":2}', id="x", name="f", index=0)
        assert calls([first], [rest]) == [("x", "f", '{"a":{"b":1},"c":2}')]

    def test_a_name_sent_again_replaces_and_is_not_appended(self) -> None:
        assert calls([piece("{", id="x", name="f", index=0)], [piece("}", name="f", index=0)]) == [("x", "f", "{}")]

    def test_the_time_for_pieces_that_all_repeat_the_name_grows_with_their_number_and_not_faster(self) -> None:
        def seconds(count: int) -> float:
            assembler, start = CallAssembler(), time.process_time()
            for text in ('{"t":"', *["word"] * count, '"}'):
                assembler.add([piece(text, id="x", name="f", index=0)])
            (call,) = assembler.finish(made_ids="m", cut=False)
            assert len(str(call.arguments["t"])) == 4 * count
            return time.process_time() - start

        assert seconds(32_000) < 20 * seconds(4_000)  # 64 times as long, if every piece looked at all before it

    def test_an_object_is_as_good_as_a_string(self) -> None:
        found = calls_of(decode(sse(delta(tool_calls=[piece({"p": "."}, name="f")]), delta("stop"))))
        assert [(c.arguments, c.fault) for c in found] == [({"p": "."}, None)]
        assert calls([piece({"p": 1}, id="x", name="f")], [piece({"p": 2}, id="x", name="f")]) == [
            ("x", "f", '{"p":1}'),
            ("x", "f", '{"p":2}'),
        ]

    def test_a_call_without_its_wrapper_and_a_null_argument_are_read(self) -> None:
        assert calls([{"id": "x", "name": "f", "arguments": None}]) == [("x", "f", "")]
        assert calls(["odd", {"index": "0", "id": 7, "function": {"name": "f"}}]) == [("call_1_0", "f", "")]  # type: ignore[list-item] # what a server may send

    def test_unknown_fields_are_kept(self) -> None:
        extra = {"google": {"thought_signature": "c2ln"}}
        found = calls_of(
            decode(sse(delta(tool_calls=[{**piece("{}", id="g1", name="f"), "extra_content": extra}]), "[DONE]"))
        )
        assert (found[0].extra, found[0].dialect) == ({"extra_content": extra}, "openai-chat")

    def test_calls_with_the_reason_stop_still_come(self) -> None:
        events = decode(sse(delta(tool_calls=[piece("{}", id="x", name="f")]), delta("stop")))
        assert len(calls_of(events)) == 1
        assert isinstance(events[-1], Finished)
        assert events[-1].reason == "tool_calls"

    def test_the_reason_tool_calls_without_calls_is_an_ordinary_end(self) -> None:
        last = decode(sse(delta("tool_calls", content="a")))[-1]
        assert isinstance(last, Finished)
        assert last.reason == "stop"


class TestArguments:
    @pytest.mark.parametrize(
        ("raw", "said"),
        [
            ("{'path': 'a.txt'}", "not valid JSON"),
            ("null", "null"),
            ("[]", "a list"),
            ('"text"', "a string"),
            ("7", "a number"),
            ("true", "a truth value"),
            ('{"a":1}{"b":2}', "not valid JSON"),
            ('{"a":NaN}', "not valid JSON"),
            ('{"a":1e999}', "not valid JSON"),
            ('{"a":' * 300 + "1" + "}" * 300, "nested too deeply"),
            ('{"a":' * 3000 + "1" + "}" * 3000, "not valid JSON"),
            ('{"h":"\\ud83d","a":NaN}', "not valid JSON"),
            ('{"h":"\\ud83d","a":1e999}', "not valid JSON"),
            ('{"h":"\\ud83d","a":' * 1500 + "1" + "}" * 1500, "not valid JSON"),
        ],
    )
    def test_what_is_no_object_is_a_fault_that_says_why(self, raw: str, said: str) -> None:
        (call,) = calls_of(decode(sse(delta(tool_calls=[piece(raw, id="x", name="f")]), delta("tool_calls"))))
        assert (call.arguments, call.raw) == ({}, raw)
        assert call.fault is not None
        assert said in call.fault

    def test_an_empty_string_is_an_empty_object(self) -> None:
        (call,) = calls_of(decode(sse(delta(tool_calls=[piece("", id="x", name="now")]), delta("tool_calls"))))
        assert (call.arguments, call.fault) == ({}, None)

    def test_half_a_surrogate_pair_in_them_is_replaced(self) -> None:
        raw = '{"t":"ok \\ud83d","n":[1.5,{"k":null}]}'
        (call,) = calls_of(decode(sse(delta(tool_calls=[piece(raw, id="x", name="f")]), "[DONE]")))
        assert call.arguments == {"t": "ok \ufffd", "n": [1.5, {"k": None}]}

    @pytest.mark.parametrize("raw", ['{"path":"a.txt","content":"line1\\nli', ""])
    def test_cut_by_the_length_limit_they_are_a_fault_and_never_repaired(self, raw: str) -> None:
        (call,) = calls_of(decode(sse(delta(tool_calls=[piece(raw, id="x", name="write_file")]), delta("length"))))
        assert call.arguments == {}
        assert "smaller pieces" in (call.fault or "")

    def test_a_whole_call_before_the_cut_one_is_good(self) -> None:
        pieces = [piece('{"a":1}', id="x", name="f", index=0), piece('{"a"', id="y", name="f", index=1)]
        first, second = calls_of(decode(sse(delta(tool_calls=pieces), delta("length"))))
        assert (first.arguments, first.fault) == ({"a": 1}, None)
        assert second.fault is not None
