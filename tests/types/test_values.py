"""Small values keep their promises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.types import errors
from ferrule.types.errors import FerruleError, IllegalTransition, SessionBusy
from ferrule.types.ids import is_alias
from ferrule.types.log_context import bound, current
from ferrule.types.messages import NEXT, Message, Status, tool_message, user_message
from ferrule.types.parts import ImagePart, TextPart
from ferrule.types.provenance import ORIGINS, is_trusted
from ferrule.types.tools import ToolCall, ToolResult
from ferrule.types.usage import Usage

counts = st.none() | st.integers(0, 10**9)
usages = st.builds(
    Usage,
    input=counts,
    cached=st.integers(0, 9),
    output=counts,
    reasoning=st.integers(0, 9),
    cost_micro_usd=counts,
)


@given(usages, usages, usages)
def test_usage_adds_up_in_any_order(a: Usage, b: Usage, c: Usage) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Usage() == a


def test_two_unknown_counts_stay_unknown() -> None:
    assert (Usage() + Usage()).input is None
    assert Usage(input=3).total == 3


@pytest.mark.parametrize(
    ("start", "end"), [(start, end) for start in NEXT for end in NEXT if end not in NEXT[start]], ids=str
)
def test_a_message_refuses_a_status_that_cannot_follow(start: Status, end: Status) -> None:
    with pytest.raises(IllegalTransition):
        Message(id="m", role="assistant", status=start).advance(end)


def test_a_message_advances_and_loses_its_encoded_form() -> None:
    message = Message(id="m", role="assistant", status="pending", wire=("x", b"{}"))
    assert message.advance("writing").advance("completed").status == "completed"
    assert message.advance("aborted").wire is None


def test_a_person_sends_text_or_parts() -> None:
    image = ImagePart(media_type="image/png", data=b"x")
    message = user_message((TextPart(text="a"), image, TextPart(text="b")), id="m")
    assert (message.text, message.parts) == ("a\nb", (image,))
    assert user_message("hi", id="m", origin="peer").origin == "peer"


def test_a_result_is_trusted_as_far_as_its_origin() -> None:
    assert {origin for origin in ORIGINS if not is_trusted(origin)} == {"file", "web", "peer", "memory"}  # type: ignore[arg-type]  # ORIGINS holds exactly the literals
    result = ToolResult.text("x", origin="file")
    message = tool_message(ToolCall(id="c", name="file_read", arguments={}), result, id="m")
    assert (message.call_id, message.name, message.trusted, message.origin) == ("c", "file_read", False, "file")
    assert ToolResult.failed("file.missing", "no").is_error


def test_every_error_has_a_code_of_its_own_and_stands_in_the_tree() -> None:
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, FerruleError)]
    codes = [c.code for c in classes]
    assert len(set(codes)) == len(codes)
    assert errors.__doc__ is not None
    for error in classes:
        assert error.__name__ in errors.__doc__


def test_an_error_carries_what_to_do() -> None:
    error = FerruleError("the lamp is off", hint="switch it on", code="lamp.off")
    assert (str(error), error.hint, error.code) == ("the lamp is off", "switch it on", "lamp.off")
    assert errors.RateLimited("slow down", retry_after_s=3).retry_after_s == 3
    assert "process 7" in str(SessionBusy("ses_1", pid=7))
    assert "another process" in str(SessionBusy("ses_1", pid=None))


@pytest.mark.parametrize("good", ["a", "agent_1", "9", "_x", "a" * 63])
def test_an_alias_of_lower_case_letters_digits_and_single_underscores_is_accepted(good: str) -> None:
    assert is_alias(good)


@pytest.mark.parametrize("bad", ["", "A", "a__b", "a-b", "a.b", "ä", "a" * 64, "a\n"])
def test_any_other_alias_is_refused(bad: str) -> None:
    assert not is_alias(bad)


def test_log_ids_are_bound_for_the_block_only() -> None:
    with bound({"agent": "a", "turn": "t"}):
        assert current() == {"agent": "a", "turn": "t"}
    assert current() == {}
