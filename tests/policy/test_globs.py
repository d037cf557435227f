"""Patterns of names, hosts and paths."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.policy.globs import escaped, matches_host, matches_name, matches_path


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("*", "anything", True),
        ("file_*", "file_read", True),
        ("file_*", "profile_read", False),
        ("git", "git", True),
        ("git", "/usr/bin/git", False),
        ("git", "Git", False),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[!a-c]x", "dx", True),
        ("[z-a]x", "-x", True),
        ("[", "[", True),
        ("[!]", "x", False),
        ("[!]]", "x", False),
        ("a\\*", "a*", True),
        ("a\\*", "ab", False),
        ("a\\", "a\\", True),
        ("**", "a/b", True),
        ("a", "a\n", False),
    ],
)
def test_a_name_is_matched_whole(pattern: str, name: str, fits: bool) -> None:
    assert matches_name(pattern, name) is fits


@pytest.mark.parametrize(
    ("pattern", "host", "fits"),
    [
        ("*", "a.test", True),
        ("api.test", "API.test.", True),
        ("api.test", "x.api.test", False),
        ("*.a.test", "x.a.test", True),
        ("*.a.test", "x.y.a.test", True),
        ("*.a.test", "a.test", False),
        ("*.a.test", ".a.test", False),
        ("*.a.test", "evila.test", False),
        ("*.*", "a.test", False),
        ("a*.test", "ab.test", False),
    ],
)
def test_a_host_is_matched_at_its_dots(pattern: str, host: str, fits: bool) -> None:
    assert matches_host(pattern, host) is fits


@pytest.mark.parametrize(
    ("pattern", "place", "fits"),
    [
        ("/w/**", "/w/a/b", True),
        ("/w/**", "/w", True),
        ("/w/**", "/wx", False),
        ("/w/*", "/w/a/b", False),
        ("/w/*", "/w/a", True),
        ("/w/**/k", "/w/k", True),
        ("/w/**/k", "/w/a/b/k", True),
        ("/w/**/k", "/w/a/bk", False),
        ("/**", "/", True),
        ("/**", "/etc/passwd", True),
        ("/", "/", True),
        ("/w/[!/]", "/w//", False),
        ("/w/a?", "/w/a/", False),
        ("/w/a**", "/w/abc", True),
        ("/w/a**", "/w/a/c", False),
    ],
)
def test_a_path_is_matched_by_components(pattern: str, place: str, fits: bool) -> None:
    assert matches_path(pattern, place) is fits


@pytest.mark.property
@given(st.text("ab*?[]\\-! /.", max_size=12), st.text("ab*?[]\\-! /.", max_size=12))
def test_an_escaped_text_matches_itself_and_nothing_else(text: str, other: str) -> None:
    assert matches_name(escaped(text), text)
    assert matches_name(escaped(text), other) is (text == other)


@pytest.mark.property
@given(
    st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]"]), max_size=4), st.lists(st.sampled_from("abc"), max_size=5)
)
def test_without_a_double_star_a_pattern_matches_only_as_many_components_as_it_has(
    parts: list[str], place: list[str]
) -> None:
    path = posixpath.join("/", *place)
    if matches_path("/" + "/".join(parts), path):
        assert len([part for part in path.split("/") if part]) == len(parts)
