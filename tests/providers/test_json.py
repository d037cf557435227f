"""JSON of models and servers: what is read can be written again, and halves of characters find each other."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.providers._json import Pairs, clean, dumps, exact, joined, loads

HALVES = st.text(alphabet="a\ud83c\udf27\udc00é🌧", max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | HALVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HALVES, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.property
@given(VALUES, st.booleans())
def test_what_was_read_can_be_written_again(value: object, keep: bool) -> None:
    text = json.dumps(value)
    again = loads(text, keep_halves=keep)
    assert loads(dumps(again)) == loads(text)


@pytest.mark.parametrize("half", ["", '"\\ud83c",'])
@pytest.mark.parametrize(("depth", "fits"), [(200, True), (252, True), (260, False), (900, False), (5_000, False)])
def test_nesting_that_could_not_be_written_again_is_refused(half: str, depth: int, fits: bool) -> None:
    for text in ("[" + half + "[" * depth + "]" * depth + "]", "[" + half + '{"a":' * depth + "1" + "}" * depth + "]"):
        if fits:
            dumps(loads(text.encode()))
        else:
            with pytest.raises(ValueError, match=r"nested|Recursion|depth|limit"):
                loads(text)


@pytest.mark.parametrize("half", ["", '"\\ud83c",'])
def test_whole_numbers_beyond_64_bits_are_floats_or_refused_where_digits_count(half: str) -> None:
    text = f"[{half}{2**64}, {-(2**63) - 1}, {2**64 - 1}, {-(2**63)}]"
    found = loads(text)
    assert isinstance(found, list)
    assert found[-4:] == [float(2**64), float(-(2**63) - 1), 2**64 - 1, -(2**63)]
    with pytest.raises(ValueError, match="beyond 64 bits"):
        exact(text)
    assert exact(f"[{2**64 - 1}]") == [2**64 - 1]
    assert exact('["12345678901234567890123", 0.12345678901234567890123]') == [
        "12345678901234567890123",
        0.12345678901234568,
    ]


@pytest.mark.property
@given(st.lists(HALVES, max_size=5))
def test_however_a_text_is_cut_its_pairs_are_joined_and_lone_halves_replaced(parts: list[str]) -> None:
    pairs = Pairs()
    found = "".join(pairs.feed(part) for part in parts) + pairs.close()
    assert found == joined("".join(parts)) == clean(json.loads(json.dumps("".join(parts))))


def test_ordinary_text_is_given_as_it_is() -> None:
    pairs = Pairs()
    assert [pairs.feed(text) for text in ("Hi", "北京🌧", "")] == ["Hi", "北京🌧", ""]
    assert pairs.close() == ""
