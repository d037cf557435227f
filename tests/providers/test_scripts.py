"""The corpus of answers: each means what it should, however the bytes are cut, and nothing of a broken one runs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benches.soak._shared_decoder import answer_over, root
from ferrule.providers._chat.encode import encode_messages
from ferrule.types.completion import CallReady
from ferrule.types.messages import Message
from tests.providers._scripts import CORPUS, SAMPLE, Script, decoded, outcome


def wrong(scripts: Sequence[tuple[str, object, object]]) -> str:
    """Say what differs, a few at a time."""
    return "\n".join(f"{name}\n  got   {got}\n  right {right}" for name, got, right in scripts[:5])


def test_the_corpus_is_large_and_no_name_stands_for_two_scripts() -> None:
    assert len(CORPUS) >= 300
    assert len({script.name for script in CORPUS}) == len(CORPUS)
    assert len(SAMPLE) == 30


def test_every_answer_means_what_it_should() -> None:
    found = [(s.name, outcome([s.body]), s.right) for s in CORPUS]
    assert not (bad := [entry for entry in found if entry[1] != entry[2]]), wrong(bad)


def test_bytes_that_come_singly_mean_the_same() -> None:
    found = [(s.name, outcome(s.body[i : i + 1] for i in range(len(s.body))), s.right) for s in CORPUS[::5]]
    assert not (bad := [entry for entry in found if entry[1] != entry[2]]), wrong(bad)


@pytest.mark.parametrize("script", SAMPLE, ids=lambda script: script.name)
def test_wherever_the_bytes_are_cut_in_two_the_events_are_the_same(script: Script) -> None:
    body = script.body
    events, error = decoded([body])
    for cut in range(1, len(body)):
        again, other = decoded([body[:cut], body[cut:]])
        assert (again, repr(other)) == (events, repr(error)), body[:cut]


@pytest.mark.parametrize("script", SAMPLE, ids=lambda script: script.name)
def test_wherever_an_answer_breaks_off_it_gives_all_of_its_calls_or_none(script: Script) -> None:
    for cut in range(len(script.body)):
        found = outcome([script.body[:cut]])
        assert found.calls in script.whole_calls, script.body[:cut]
        assert not (found.calls and found.error), script.body[:cut]


def test_an_error_behind_a_whole_answer_can_only_be_hidden_with_all_calls_of_that_answer() -> None:
    scripts = [script for script in CORPUS if script.before]
    assert scripts
    for script in scripts:
        found = [outcome([script.body[:cut]]) for cut in range(len(script.body) + 1)]
        assert {each.calls for each in found} == {(), script.before}
        assert all(each.reason == "tool_calls" and each.error is None for each in found if each.calls)
        assert found[-1] == script.right


@pytest.mark.parametrize("script", SAMPLE[::5], ids=lambda script: script.name)
def test_cuts_that_share_a_decoder_find_what_single_ones_find(script: Script) -> None:
    begin, body = root(), script.body
    for cut in range(1, len(body)):
        for pieces in ([body[:cut], body[cut:]], [body[:cut]]):
            alone, shared = decoded(pieces), decoded(pieces, answer_over(begin))
            assert (shared[0], repr(shared[1])) == (alone[0], repr(alone[1])), pieces


def test_every_call_that_was_read_can_be_sent_back() -> None:
    for script in CORPUS:
        calls = tuple(event.call for event in decoded([script.body])[0] if isinstance(event, CallReady))
        assert encode_messages([Message(id="a", role="assistant", calls=calls)])
