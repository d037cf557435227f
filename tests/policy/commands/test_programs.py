"""Programs, their options, their wrappers: risk, paths, and the pattern of "always"."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.policy.agent_policy import policy_of
from ferrule.policy.commands.forms import FORMS, SHELL_WORDS
from ferrule.policy.commands.lines import MOST, Line, judged_line
from ferrule.policy.commands.parse import parsed
from ferrule.policy.commands.programs import judge_program
from ferrule.policy.commands.wrappers import DEEPEST, is_harmless, unwrapped
from ferrule.policy.decide import decide
from ferrule.types.access import Access, AccessRequest, Allow, Ask, Decision, Deny, Level


def line(text: str) -> Line:
    return judged_line(parsed(text), cwd="", home="/w")


def judged(text: str, level: Level = "full", *listed: str) -> Decision:
    policy = policy_of(level=level, workspace="/w", forbidden=("/w/keep",), allowed_commands=listed or (*FORMS, *NAMES))
    return decide(AccessRequest(tool="t", accesses=(Access(action="command.run", target=text),)), policy)


NAMES = ("git", "find", "echo", "printf", "env", "nice", "timeout", "nohup", "stdbuf", "ionice", "sudo", "xargs")


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("grep -n x a b", "a b", ""),
        ("grep -e x a", "a", ""),
        ("grep -ex a", "a", ""),
        ("grep -A 3 x a", "a", ""),
        ("grep --regexp=x a", "a", ""),
        ("grep --max-count 3 x a", "a", ""),
        ("grep -rn x", ".", ""),
        ("sed -n 3p a", "a", ""),
        ("head -n 3 -5 a -- -b", "a -b", ""),
        ("head -n", "", ""),
        ("head --lines", "", ""),
        ("cat - a", "- a", ""),
        ("cp a b", "a", "b b/a"),
        ("cp sub/a/ b", "sub/a/", "b b/a"),
        ("mv a b", "a", "a b b/a"),
        ("cp a", "a", "a"),
        ("touch -d now a b", "a b", "a b"),
        ("find a b -newer c -name x", "a b c", ""),
        ("find -P a", "a", ""),
        ("find -name", ".", ""),
        ("find a -exec cat d ;", "a d ;", ""),
        ("find a -exec", "a", ""),
        ("find a -execdir touch d ;", "a d ;", "d ;"),
        ("rm -r a", "a", "a"),
        ("chmod 755 a", "a", "a"),
        ("git -C a status", "a", ""),
        ("git -C a gc", "a", ""),
        ("rg --files a", "a", ""),
        ("cd a", "a", ""),
        ("du", ".", ""),
    ],
)
def test_paths_are_told_from_options_values_and_texts(text: str, reads: str, writes: str) -> None:
    found = judge_program(text.split())
    assert " ".join(found.reads) == reads
    assert " ".join(found.writes) == writes


@pytest.mark.parametrize(
    "text",
    [
        *(
            "cat /etc/passwd",
            "cat a ../b",
            "rm -rf /",
            "touch /x",
            "(cat /etc/x)",
            "echo $(cat /etc/x)",
            "cat < /etc/x",
        ),
        *("ls > /x", "ls 2>> ../x", "cat ~/../x", "cat $HOME/../x", "cat ../*", "env cat /etc/x", "sudo cat /etc/x"),
        *("find . -exec cat /etc/x ;", "cat keep/a", "cp keep/a b", "mv a keep", "if ls; then cat keep/a; fi"),
        *("cd .. && ls", "cd / ; ls", "A=$(cat /etc/x) ls", "cat <<E\n$(cat /etc/x)\nE", "cp .ferrule/a .ferrule/b"),
        *("cp x/.ferrule .", "source /etc/profile", "xargs cat /etc/x", "ls &> /x", "cd sub && cat ../../x"),
        "true | " * MOST + "true",
    ],
)
def test_a_path_outside_is_denied_wherever_it_stands(text: str) -> None:
    for level in ("read_only", "supervised", "full"):
        assert isinstance(judged(text, level), Deny)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "cd sub && ls",
            "cd sub && cat ../a | wc",
            "env LC_ALL=C TZ=UTC ls",
            "timeout -k 1 5 nice -n 3 ls -l",
            "nohup ls",
        ),
        *(
            "stdbuf -oL cat a",
            "ionice -c3 ls",
            "env -- ls",
            "LC_ALL=C ls",
            "ls 2>&1 >/dev/null </dev/null",
            "echo -e a -x",
        ),
        *("touch a", "echo a > b", "echo a >> b", "timeout 5 touch a", "date +%F", "printf %s a", "printf"),
        *("find sub -name x -print", "find sub ! -name x", "find sub '(' -name x -o -name y ')'"),
    ],
)
def test_what_is_understood_in_full_runs_without_asking(text: str) -> None:
    assert isinstance(judged(text), Allow), judged(text)


@pytest.mark.parametrize(
    "text",
    [
        *("A=1 ls", "A=1", "> a", "PATH=. ls", "LC_ALL=a/b ls", "TZ=:/etc/x date", "TZ=../x date", "env A=1 ls", "env"),
        *(
            "env -S ls",
            "timeout 5",
            "nice nice",
            "sudo ls",
            "xargs ls",
            "setsid ls",
            "time ls",
            "command ls",
            "exec ls",
        ),
        *(
            "cat < a",
            "ls &> a",
            "ls 3> a",
            "ls >| a",
            "ls >& a",
            "ls <&3",
            "touch a; ls",
            "touch a | cat",
            "ls && cp a b",
        ),
        *(
            "printf -v a b",
            "date 0101",
            "uniq a b",
            "cp -r a b",
            "cp a b c",
            "ls --unknown",
            "od -w a",
            "rmdir -p a/b",
            "ls -lD",
            "grep --inc=x a b",
        ),
        *("find a -unknown", "git", "git -C", "git push", "cd a", "cd a; ls", "cd -P && ls", "cd && ls", "cd '' && ls"),
        *(
            "A=1 cd a && ls",
            "cd a >b && ls",
            "ls && cd a",
            "cd a || ls",
            "(cd a) && ls",
            "du",
            "eval ls",
            ". a",
        ),
        *(
            "'' a",
            "nice ''",
            "",
            "# only a remark",
            "sed e a",
            "tree -l",
            "find -L .",
            "hostname x",
            "no-such-thing",
            "env " * 9,
        ),
    ],
)
def test_what_is_not_known_to_be_harmless_asks(text: str) -> None:
    assert isinstance(judged(text), Ask), judged(text)


def test_every_word_of_the_shell_asks() -> None:
    for word in SHELL_WORDS:
        assert judge_program((word, "x")).is_word
        assert isinstance(judged(f"{word} x"), Ask)


def test_wrappers_and_what_is_in_them_must_both_be_listed() -> None:
    assert isinstance(judged("timeout 5 ls", "full", "ls"), Ask)
    assert isinstance(judged("timeout 5 ls", "full", "timeout"), Ask)
    assert isinstance(judged("timeout 5 ls", "full", "timeout", "ls"), Allow)
    both = judged("stat a | nl", "full", "ls")
    assert isinstance(both, Ask)
    assert both.reason == "stat, nl are not in allowed_commands"
    assert unwrapped(["env"] * (DEEPEST + 1)).reason == "too many wrappers"
    assert not is_harmless("LD_PRELOAD", "x")


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("grep -nA3 x a", "command:grep -A -n TEXT PATH"),
        ("git -C sub log -5 --oneline x", "command:git log --oneline -5 -C TEXT"),
        ("timeout 5 ls -l | wc -l", "command:timeout ls -l, wc -l"),
        ("find sub -name x", "command:find -name PATH"),
        ("head -5 a", "command:head -NUMBER PATH"),
        ("echo a > b", "command:echo TEXT > PATH"),
        ("touch a", "command:touch PATH"),
        ("rm a", ""),
        ("ls $A", ""),
        ("rm a > b", ""),
        ("timeout 5 rm a", ""),
        ("touch a; ls", ""),
    ],
)
def test_always_binds_to_the_program_with_its_options(text: str, pattern: str) -> None:
    asked = judged(text, "supervised", "none")
    assert isinstance(asked, Ask)
    assert asked.pattern == pattern


WORDS = [
    "ls",
    "cat",
    "grep",
    "cp",
    "touch",
    "sort",
    "find",
    "git",
    "status",
    "log",
    "rm",
    "sed",
    "date",
    "timeout",
    "5",
]
ARGUMENTS = [
    *WORDS,
    "-l",
    "-n",
    "-r",
    "-o",
    "-R",
    "-e",
    "--",
    "a",
    "sub",
    ".",
    "../x",
    "/etc/x",
    "keep/a",
    "+%F",
    "3p",
    "w P",
]
calls = st.lists(st.sampled_from(ARGUMENTS), max_size=4).flatmap(
    lambda rest: st.sampled_from(WORDS).map(lambda program: [program, *rest])
)
joined = st.lists(calls, min_size=1, max_size=3).map(lambda many: " | ".join(map(shlex.join, many)))
RISKS = ["low", "medium", "high"]


@pytest.mark.property
@given(st.lists(joined, min_size=2, max_size=12))
def test_what_a_pattern_covers_is_never_riskier_than_what_was_asked(texts: list[str]) -> None:
    asked = [(text, judged(text, "supervised", "none")) for text in texts]
    for text, question in asked:
        if not isinstance(question, Ask) or not question.pattern:
            continue
        for other, answer in asked:
            if isinstance(answer, Ask) and answer.pattern == question.pattern:
                assert [p.risk for p in line(other).programs] == [p.risk for p in line(text).programs]
                assert not line(other).unclear
                assert not {p.risk for p in line(other).programs} & {"high"}
                assert [p.listed for p in line(other).programs] == [p.listed for p in line(text).programs]


@pytest.mark.property
@given(
    st.lists(st.sampled_from([*ARGUMENTS, ";", "|", "&&", "$A", "(", ")", ">", "<", "'"]), max_size=10).map(" ".join)
)
def test_a_decision_about_any_line_is_total_and_denies_every_path_outside(text: str) -> None:
    found = judged(text)
    outside = [place.path for place in line(text).places if "/../" in place.path or "/etc" in place.path[:4]]
    assert isinstance(found, Deny) if outside else found is not None


def test_a_folder_that_holds_what_is_kept_is_not_moved() -> None:
    found = judged("mv . x")
    assert isinstance(found, Deny)
    assert found.rule == "path.holds_kept"
