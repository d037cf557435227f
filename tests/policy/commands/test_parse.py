"""The tree of a line: what is understood, and what is left to a shell."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.policy.commands.parse import parsed
from ferrule.policy.commands.plan import planned, written
from ferrule.policy.commands.tree import (
    DEEPEST,
    LONGEST,
    TOO_DEEP,
    Compound,
    Expansion,
    Pipeline,
    Sequence,
    Simple,
    Text,
    Word,
    simples,
    strangers,
)


def words(line: str) -> list[str | None]:
    tree = parsed(line)
    assert isinstance(tree, Simple)
    return [word.literal for word in tree.words]


@pytest.mark.parametrize(
    ("line", "right"),
    [
        ("ls -l a", ["ls", "-l", "a"]),
        ("a 'b c'd \"e'f\"", ["a", "b cd", "e'f"]),
        ('echo "a\\$b\\"c\\d" a\\ b \\;', ["echo", 'a$b"c\\d', "a b", ";"]),
        ('echo "a\nb" "a \\\nb" ""', ["echo", "a\nb", "a b", ""]),
        ("ls \\\n  -l", ["ls", "-l"]),
        ("echo a~ x'~'", ["echo", "a~", "x~"]),
        ("echo a'b'~", ["echo", "ab~"]),
        ("echo {} ! a=b 5 é", ["echo", "{}", "!", "a=b", "5", "é"]),
        ("ls # why", ["ls"]),
    ],
)
def test_words_mean_what_a_shell_makes_of_them(line: str, right: list[str]) -> None:
    assert words(line) == right


@pytest.mark.parametrize(
    "line",
    [
        *(
            "cat *",
            "cat a?",
            "cat [a]",
            "cat {a,b}",
            "cat ~",
            "cat ~/a",
            "cat ~root/a",
            "cat x=~/a",
            "cat $A",
            "cat ${A}",
        ),
        *(
            "cat $'a'",
            'cat $"a"',
            'cat "$A"',
            'cat "a`id`"',
            "cat $(id)",
            "cat <(id)",
            "cat $((1))",
            "cat a#b",
            "A=$B ls",
        ),
        *("cat \\ x", "cat a \\ b", 'cat "a$"', "ls > $A", "cat a'b'*", "$A", "cat a$", "cat @(a|b)"),
    ],
)
def test_what_a_shell_would_replace_is_no_text(line: str) -> None:
    assert list(strangers(parsed(line)))
    assert planned(line, cwd="", home="/w").argv == ("/bin/sh", "-c", line)


@pytest.mark.parametrize(
    "line",
    [
        *("(id)", "{ id; }", "! id", "if id; then id; fi", "while id; do id; done", "for i in a; do id; done", "id &"),
        *("case a in a) id;; esac", "f() { id; }", "export A=$(id)", "id |& cat", "cat <<E\n$(id)\nE", "cat <<< $(id)"),
        *("A[0]=1 id", "A+=1 id", "A=(1) id", "ls; (id) > a", "id <<< a", "id; )", "id | { id; } > a"),
    ],
)
def test_the_commands_inside_of_what_is_not_followed_are_found(line: str) -> None:
    tree = parsed(line)
    assert list(strangers(tree))
    found = [word.literal for command in simples(tree) for word in command.words[:1]]
    assert "id" in found or line.startswith("A")


@pytest.mark.parametrize(
    "line", ["a\rb", "a\0b", "a\u202eb", "a\u200bb", "a\ud800", "a\x1b[0m", "to\\\nuch", "a" * (LONGEST + 1)]
)
def test_signs_that_hide_something_are_named(line: str) -> None:
    tree = parsed(line)
    assert isinstance(tree, Compound)
    assert not tree.inside


@pytest.mark.parametrize(
    "line", ["(" * 90 + "id" + ")" * 90, "$(" * 90 + "id" + ")" * 90, "echo " + "${A:-" * 90 + "}" * 90]
)
def test_what_nests_too_deep_is_not_followed(line: str) -> None:
    assert parsed(line) == Compound(TOO_DEEP)


def test_an_unclosed_quote_is_an_error_and_no_crash() -> None:
    assert isinstance(parsed('a "é'), Compound)
    assert isinstance(parsed("a 'é"), Compound)


def test_chains_are_no_nesting() -> None:
    tree = parsed("a && b || c | d; e\nf")
    assert isinstance(tree, Sequence)
    assert tree.joins == (";", ";")
    first = tree.items[0]
    assert isinstance(first, Sequence)
    assert first.joins == ("&&", "||")
    assert isinstance(first.items[2], Pipeline)
    long = parsed(" && ".join(["a"] * (DEEPEST * 3)))
    assert isinstance(long, Sequence)
    assert len(long.items) == DEEPEST * 3


def test_a_redirection_belongs_to_the_last_program() -> None:
    assert written(parsed("a | b > c")) == "'a' | 'b' >'c'"
    assert written(parsed("a && b 2>&1 >c")) == "'a' && 'b' 2>&1 >'c'"
    assert planned("a | b", cwd="", home="/w").argv == ("/bin/sh", "-c", "'a' | 'b'")
    assert written(parsed("cd a && ls")) == "'cd' -P 'a' && 'ls'"
    assert written(parsed("2>/dev/null a")) == "'a' 2>'/dev/null'"


def test_a_guess_fills_in_the_home_and_nothing_else() -> None:
    word = Word((Expansion("the home folder", "~", is_home=True), Text("/../x"), Expansion("a variable", "$A")))
    assert word.guess("/w") == "/w/../x$A"
    assert word.literal is None


def test_what_is_left_to_a_shell_cannot_be_written() -> None:
    for line in ("(a)", "cat $A"):
        with pytest.raises(ValueError, match="left to a shell"):
            written(parsed(line))


lines = st.text(st.sampled_from("ab |&;<>()$`\\\"'\n{}*?[]#~=!-/1é"), max_size=30)
argvs = st.lists(
    st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), min_size=1), min_size=1, max_size=5
)


@pytest.mark.property
@given(lines)
def test_any_text_is_read_and_what_is_written_anew_means_the_same(line: str) -> None:
    tree = parsed(line)
    if not list(strangers(tree)) and all(command.words for command in simples(tree)) and tree != Sequence((), ()):
        again = parsed(written(tree))
        assert [[w.literal for w in c.words] for c in simples(again)] == [
            [w.literal for w in c.words] for c in simples(tree)
        ]


@pytest.mark.property
@given(argvs)
def test_quoted_words_come_back_as_they_were(argv: list[str]) -> None:
    assert words(shlex.join(["x", *argv])) == ["x", *argv]
