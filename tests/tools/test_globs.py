"""Patterns over paths stay within a name, unless two stars say otherwise."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ferrule.tools._globs import compile_glob


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "a/b.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "x/y/a.py", True),
        ("src/**", "src/a/b", True),
        ("a?b", "axb", True),
        ("a?b", "a/b", False),
        ("a[!x]b", "a/b", False),
        ("a[!x]b", "ayb", True),
        ("[a-c]1", "b1", True),
        ("[.*]x", ".x", True),
        ("[]]x", "]x", True),
        ("[z-a]", "[z-a]", True),
        ("[", "[", True),
        ("./a**b", "axyb", True),
    ],
)
def test_a_pattern_matches_what_it_says(pattern: str, path: str, matches: bool) -> None:
    assert bool(compile_glob(pattern).match(path)) is matches


@pytest.mark.property
@example("[?--]", "")
@given(st.text("ab*?[]!-/.\\^", max_size=12), st.text("ab/.", max_size=8))
def test_any_pattern_can_be_used(pattern: str, path: str) -> None:
    compile_glob(pattern).match(path)
