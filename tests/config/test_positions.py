from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping

import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from ferrule.config.positions import positions, sections
from ferrule.config.problems import Path

TEXT = '''\
# top
title = "a # b"   # no comment inside

[server]
"odd.key" = { x = 1, y = { z = [1, { q = 2 }] } }
text = """
[not.a.table]
key = 1
\\"""
"""
raw = \'\'\'
also = "not a key"
\'\'\'
list = [
  "one", # [x]
  ["two", ], # ]
]
a.b.c = 1

[[items]]
name = 'x'
[items.inner]
k = 1979-05-27T07:32:00Z
[[items]]
name = 'y'
[items.inner]
k = +1.5e3
last = false'''


EXPECTED: dict[str, list[Path]] = {
    "title =": [("title",)],
    "[server]": [("server",)],
    '"odd.key"': [
        ("server", "odd.key"),
        ("server", "odd.key", "x"),
        ("server", "odd.key", "y"),
        ("server", "odd.key", "y", "z"),
        ("server", "odd.key", "y", "z", 0),
        ("server", "odd.key", "y", "z", 1),
        ("server", "odd.key", "y", "z", 1, "q"),
    ],
    'text = """': [("server", "text")],
    "raw =": [("server", "raw")],
    "list =": [("server", "list")],
    '"one",': [("server", "list", 0)],
    '["two"': [("server", "list", 1), ("server", "list", 1, 0)],
    "a.b.c": [("server", "a"), ("server", "a", "b"), ("server", "a", "b", "c")],
    "name = 'x'": [("items", 0, "name")],
    "k = 1979": [("items", 0, "inner", "k")],
    "name = 'y'": [("items", 1, "name")],
    "k = +1": [("items", 1, "inner", "k")],
    "last =": [("items", 1, "inner", "last")],
}


def line_of(mark: str) -> int:
    """Count the line on which a mark stands."""
    return TEXT.count("\n", 0, TEXT.index(mark)) + 1


def test_every_key_has_its_line() -> None:
    found = positions(TEXT)
    for mark, keys in EXPECTED.items():
        assert {key: found.pop(key) for key in keys} == dict.fromkeys(keys, line_of(mark))
    headers = [("items",), ("items", 0), ("items", 0, "inner"), ("items", 1), ("items", 1, "inner")]
    first = line_of("[[items]]")
    assert [found.pop(key) for key in headers] == [first, first, first + 2, first + 4, first + 6]
    assert found == {}


def test_a_new_key_goes_behind_the_last_one_of_its_table() -> None:
    found = sections(TEXT)
    assert found[()] == line_of("title")
    assert found[("server",)] == line_of("a.b.c")
    assert found[("items", 1, "inner")] == line_of("last")
    assert sections("[empty]\n\n# about the next\n[next]\nk = '''\n\n'''\n") == {("empty",): 1, ("next",): 7}


def paths(value: object, path: Path = ()) -> Iterator[Path]:
    """List all paths of plain data."""
    if path:
        yield path
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from paths(inner, (*path, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from paths(inner, (*path, number))


KEYS = st.one_of(st.sampled_from(["a", "b-c", "1"]), st.text(max_size=3).filter(str.isprintable))
LEAVES = st.one_of(
    st.integers(-99, 99),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=8),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, TREES, max_size=4))
def test_the_scanner_finds_exactly_what_the_reader_reads(tree: dict[str, object]) -> None:
    text = tomlkit.dumps(tree)
    data = tomllib.loads(text)
    found = positions(text)
    assert set(found) == set(paths(data))
    assert all(1 <= line <= text.count("\n") + 1 for line in found.values())
