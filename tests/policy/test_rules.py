"""The table of levels, the boundary of paths, and what a command line may do: decisions without a disk."""

from __future__ import annotations

import posixpath
import time
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.policy.agent_policy import AgentPolicy, Root, policy_of
from ferrule.policy.commands.plan import planned
from ferrule.policy.commands.programs import judge_program
from ferrule.policy.decide import decide
from ferrule.policy.law import AgentLaw, LawInput, for_agent
from ferrule.policy.paths import is_below, judge_path
from ferrule.types.access import Access, AccessRequest, Action, Allow, Ask, Decision, Deny, Level
from ferrule.types.errors import ConfigError

LISTED = (
    "echo",
    "ls",
    "cat",
    "git",
    "find",
    "rg",
    "sort",
    "head",
    "grep",
    "env",
    "timeout",
    "touch",
    "cp",
    "wc",
    "uniq",
    "date",
)
STRICTNESS = {Allow: 0, Ask: 1, Deny: 2}
LEVELS: tuple[Level, ...] = ("read_only", "supervised", "full")


def policy(level: Level = "supervised", **more: object) -> AgentPolicy:
    given_: dict[str, object] = {
        "roots": (Root("/shared", "read"), Root("/drop", "write"), Root("/w/bot/sub/ro", "read")),
        "forbidden": ("/home/me/.ferrule", "/w/bot/keep"),
        "allowed_commands": LISTED,
        **more,
    }
    return policy_of(level=level, workspace="/w/bot", **given_)  # type: ignore[arg-type]  # tests name real fields


def judged(action: Action, target: str, level: Level = "supervised", cwd: str = "", **more: object) -> Decision:
    access = Access(action=action, target=target, cwd=cwd)
    return decide(AccessRequest(tool="t", accesses=(access,)), policy(level, **more))


def word(decision: Decision) -> str:
    return type(decision).__name__.lower()


@pytest.mark.parametrize(
    ("action", "target", "answers"),
    [
        ("files.read", "a.txt", "allow allow allow"),
        ("files.read", "/shared/a", "allow allow allow"),
        ("files.read", "", "allow allow allow"),
        ("files.write", "a.txt", "deny ask allow"),
        ("files.write", "", "deny ask allow"),
        ("command.run", "ls sub", "deny allow allow"),
        ("command.run", "touch a", "deny ask allow"),
        ("command.run", "rm a", "deny ask ask"),
        ("command.run", "python3 a.py", "deny ask ask"),
        ("command.run", "ls | wc", "deny allow allow"),
        ("command.run", "ls | stat a", "deny ask ask"),
        ("command.run", "ls; touch a", "deny ask ask"),
        ("command.run", "ls | sh", "deny ask ask"),
        ("command.run", "ls | cat /etc/passwd", "deny deny deny"),
        ("command.run", "stat a", "deny ask ask"),
        ("command.run", "", "deny ask ask"),
        ("network.connect", "a.test:443", "ask ask allow"),
        ("network.connect", "", "ask ask allow"),
        ("custom", "thing", "deny ask allow"),
        ("custom", "", "deny ask allow"),
        ("files.read", "/etc/passwd", "deny deny deny"),
        ("files.write", "../bot2/a", "deny deny deny"),
        ("files.read", "/w/bot2/a", "deny deny deny"),
        ("files.read", "keep/secret", "deny deny deny"),
        ("files.read", "/drop/a", "deny deny deny"),
        ("files.write", "/drop/a", "deny ask allow"),
        ("files.write", "/shared/a", "deny deny deny"),
        ("files.write", "sub/ro/a", "deny deny deny"),
        ("files.write", ".ferrule/settings.toml", "deny deny deny"),
        ("files.read", "/dev/null", "allow allow allow"),
        ("files.write", "/dev/null", "deny deny deny"),
        ("files.read", "a\0b", "deny deny deny"),
        ("files.read", "a" * 5000, "deny deny deny"),
        ("command.run", "cat /etc/hostname", "deny deny deny"),
    ],
)
def test_every_cell_of_the_table_of_levels(action: Action, target: str, answers: str) -> None:
    assert " ".join(word(judged(action, target, level)) for level in LEVELS) == answers


def test_several_effects_get_the_strictest_answer() -> None:
    def of(*accesses: Access) -> Decision:
        return decide(AccessRequest(tool="t", accesses=accesses), policy())

    read = Access(action="files.read", target="a")
    write = Access(action="files.write", target="a")
    outside = Access(action="files.read", target="/etc/passwd")
    net = Access(action="network.connect", target="x:1")
    assert of() == Allow(rule="declares.nothing")
    assert isinstance(of(read, read), Allow)
    assert of(read, write) == of(write)
    assert isinstance(of(write, outside), Deny)
    both = of(write, net)
    assert isinstance(both, Ask)
    assert both.reason == "writes a; connects to x:1"
    assert both.pattern == ""


BYPASSES = [
    "echo a; touch P",
    "echo a && touch P",
    "echo a || touch P",
    "echo a | tee P",
    "echo a & touch P",
    "echo a\ntouch P",
    "echo a\r\ntouch P",
    "echo $(touch P)",
    "echo `touch P`",
    "echo ${A:=$(touch P)}",
    'echo "$(<secret.txt)"',
    "cat <(cat secret.txt)",
    "{ cat secret.txt; }",
    "( cat secret.txt )",
    "! cat secret.txt",
    "cat<a",
    "env bash -c id",
    "env -S 'sh -c id'",
    "timeout 5 sh -c id",
    "LD_PRELOAD=./p.so ls",
    "find . -exec touch P",
    "find . -delete",
    "find . -fprintf P x",
    "sort -o P a",
    "sort --compress-prog=./p a",
    "sort --comp ./p a",
    "sort -uo P a",
    "rg --pre ./p x",
    "grep -f ../x a",
    "git -c a=b status",
    "git fetch --upload-pack=x",
    "git log --output=../x",
    "git log -p",
    "git log -U3",
    "git log --format=%G?",
    "git log --pretty=format:%GK",
    "git log --format=mine",
    "date 010100002030",
    "git log --word-diff",
    "git log -L1,5:a",
    "git branch --edit-description",
    "git branch --unset-upstream",
    "git describe --dirty",
    "git log --output=x",
    "grep -ex /etc/passwd",
    "grep /etc/passwd -e .",
    "grep --regexp=. /etc/passwd",
    "rg -ex /etc/passwd",
    "rg --files /etc",
    "date -f /etc/passwd",
    "date --file /etc/passwd",
    "git diff",
    "git branch new",
    "git",
    "git -C",
    "uniq a b",
    "cp a b c",
    "cat *",
    "cat ~root/.profile",
    "head $HOME/.ssh/id",
    "head {a,b}",
    "./cat a",
    "/bin/cat a",
    "",
    "   ",
    "'' a",
    'echo "a',
    "echo a'b",
    "echo a#b",
    "a'b'\"c\"=d e",
    "cat //etc/hostname",
    "cat /etc/hostname",
    "cat ../bot2/x",
    "head -n1 ../bot2/x",
    "rg x --iglob=/etc/passwd",
    "wc -l/etc/passwd",
    "git -C /etc status",
]


@pytest.mark.parametrize("line", BYPASSES, ids=str)
def test_no_way_round_the_list_runs_without_asking(line: str) -> None:
    assert not isinstance(judged("command.run", line or " "), Allow)
    assert not isinstance(judged("command.run", line or " ", "full"), Allow)


@pytest.mark.parametrize(
    "line",
    [
        "ls",
        "ls -la sub",
        "git status",
        "git -C sub status",
        "git --no-pager log --oneline -n 5",
        "git branch -a",
        "git log -5 --since=yesterday -- src",
        "git log -n3",
        "git log --format=%H",
        "git log --pretty=oneline",
        "date +%s",
        "grep -n x a.txt",
        "grep -rn '/etc/passwd' sub",
        "find sub -name '*.py'",
        "head -n 5 README.md",
        "rg TODO src",
        "echo 'a; b' \"c | d\"",
        "wc -l a.txt",
        "cat -- -odd-name",
        "cat -",
        "sort a",
        "  ls\t",
        "cat /shared/a",
        "uniq a",
    ],
)
def test_honest_commands_run_without_asking(line: str) -> None:
    assert isinstance(judged("command.run", line), Allow), judged("command.run", line)


def test_a_command_runs_where_it_may_read_and_its_paths_start_there() -> None:
    assert isinstance(judged("command.run", "ls", cwd="/etc"), Deny)
    assert isinstance(judged("command.run", "ls", cwd="sub"), Allow)
    assert isinstance(judged("command.run", "cat ../../x", cwd="sub"), Deny)
    assert isinstance(judged("command.run", "cat ../x", cwd="sub"), Allow)
    assert isinstance(judged("command.run", "touch ro/x", cwd="sub"), Deny)


def test_always_is_offered_for_a_shape_and_never_for_what_may_run_anything() -> None:
    def pattern(line: str) -> str:
        decision = judged("command.run", line, allowed_commands=())
        assert isinstance(decision, Ask)
        return decision.pattern

    assert pattern("git status -s") == "command:git status -s"
    assert pattern("cat a") == "command:cat PATH"
    assert pattern("rm -r a") == pattern("cat a; rm b") == pattern("find . -delete") == ""


@pytest.mark.parametrize("line", ["find . -name '*.py'", "grep -rn x .", "grep -r x", "rg x", "du", "mv sub other"])
def test_going_through_a_folder_asks_when_something_below_it_is_kept_from_the_agent(line: str) -> None:
    assert isinstance(judged("command.run", line, "full", allowed_commands=(*LISTED, "mv", "du")), Ask)
    listed = (*LISTED, "mv", "du")
    assert isinstance(judged("command.run", line, "full", forbidden=(), roots=(), allowed_commands=listed), Allow)


def test_a_line_that_is_too_long_is_denied_in_no_time() -> None:
    for line in ("echo " + "a" * 1_000_000, "true && " * 70 + "ls", "ls " + " ".join(map(str, range(1_500)))):
        began = time.perf_counter()
        assert isinstance(judged("command.run", line, "full"), Deny)
        assert time.perf_counter() - began < 0.2
    assert isinstance(judged("command.run", "echo " + "a " * 5_000), Allow)


def test_quotes_are_understood_and_nothing_is_expanded() -> None:
    assert planned("a 'b c'd \"e'f\"", cwd="", home="/w").argv == ("a", "b cd", "e'f")
    assert judge_program(("nothing-known",)).risk == "high"


paths = st.lists(st.sampled_from(["a", "..", ".", "", "bot", "bot2", "w", "keep", "~", "%2f", ".ferrule"]), max_size=6)
lines = st.text(st.sampled_from("abc ls;&|<>()$`'\"\\\n\r\t*?[]{}~!#=-/.0é"), max_size=24)


@pytest.mark.property
@given(st.sampled_from(get_args(Action)), st.text(max_size=30) | lines, st.text(max_size=5))
def test_a_decision_is_total_repeatable_and_never_milder_at_a_stricter_level(
    action: Action, target: str, cwd: str
) -> None:
    answers = [judged(action, target, level, cwd=cwd) for level in LEVELS]
    assert answers == [judged(action, target, level, cwd=cwd) for level in LEVELS]
    strict = [STRICTNESS[type(answer)] for answer in answers]
    assert strict == sorted(strict, reverse=True)


@pytest.mark.property
@given(paths, st.booleans(), st.sampled_from(LEVELS), st.sampled_from(["files.read", "files.write"]))
def test_nothing_outside_the_roots_is_ever_allowed_or_asked(
    parts: list[str], is_absolute: bool, level: Level, action: Action
) -> None:
    path = ("/" if is_absolute else "") + "/".join(parts)
    place = posixpath.normpath(posixpath.join("/w/bot", path or "."))
    inside = any(is_below("/" + place.lstrip("/"), root) for root in ("/w/bot", "/shared", "/drop"))
    if path and not inside:
        assert isinstance(judged(action, path, level), Deny)


@pytest.mark.property
@given(lines)
def test_what_needs_no_shell_holds_no_word_that_a_shell_would_change(line: str) -> None:
    plan = planned(line, cwd="", home="/w")
    if not plan.has_shell:
        assert plan.argv[0]
        assert "\n" not in line.strip(" \t\n").split("'")[0].split('"')[0].split("#")[0]
        assert not set("$`*?") & set(line.split("'")[0].split("\\")[0].split('"')[0].split("#")[0])


def test_a_lifted_boundary_leaves_what_is_kept_from_tools() -> None:
    free = policy("full", unrestricted=True)
    assert isinstance(judge_path("/etc/hostname", "files.read", free), Allow)
    assert isinstance(judge_path("/tmp/x", "files.write", free), Allow)
    assert isinstance(judge_path("/home/me/.ferrule/config.toml", "files.read", free), Deny)
    assert isinstance(judge_path("/shared/x", "files.write", free), Deny)
    assert isinstance(judge_path("/drop/x", "files.read", free), Deny)
    assert is_below("/a", "/")


def test_a_root_that_lies_deeper_than_what_is_forbidden_is_the_operators_word() -> None:
    own = policy_of(level="full", workspace="/home/me/.ferrule/workspaces/bot", forbidden=("/home/me/.ferrule",))
    assert isinstance(judge_path("a.txt", "files.write", own), Allow)
    assert isinstance(judge_path("/home/me/.ferrule/config.toml", "files.read", own), Deny)
    whole = policy_of(level="full", workspace="/home/me", forbidden=("/home/me/.ferrule",))
    assert isinstance(judge_path(".ferrule/config.toml", "files.read", whole), Deny)


def test_of_equal_roots_the_one_with_fewer_rights_counts() -> None:
    twice = policy_of(level="full", workspace="/w", roots=(Root("/w", "read_write"), Root("/w", "read")))
    assert isinstance(judge_path("a", "files.write", twice), Deny)


def test_the_revision_changes_with_every_rule_and_with_nothing_else() -> None:
    assert policy().revision == policy().revision
    others = [policy("full"), policy(unrestricted=True), policy(allowed_commands=()), policy(approvers=("ann",))]
    assert len({p.revision for p in [policy(), *others]}) == 5


LAW = LawInput(
    agents={
        "one": AgentLaw(level="supervised", workspace="/w/one", access={"two": "read"}, allowed_commands=("ls",)),
        "two": AgentLaw(level="full", workspace="/w/two", approvers=("ann",)),
        "bad": AgentLaw(level="full", workspace="/w/bad", access={"gone": "read"}),
    },
    forbidden=("/state",),
)


def test_the_law_of_an_agent_is_its_level_its_workspace_and_what_siblings_share() -> None:
    one = for_agent(LAW, "one")
    assert one == for_agent(LAW, "one")
    assert isinstance(judge_path("/w/two/a", "files.read", one), Allow)
    assert isinstance(judge_path("/w/two/a", "files.write", one), Deny)
    assert isinstance(judge_path("/w/one/a", "files.read", for_agent(LAW, "two")), Deny)
    assert for_agent(LAW, "two").approvers == ("ann",)


@pytest.mark.parametrize("alias", ["nobody", "bad"])
def test_an_agent_that_does_not_exist_is_named_with_those_that_do(alias: str) -> None:
    with pytest.raises(ConfigError) as caught:
        for_agent(LAW, alias)
    assert "one" in str(caught.value.hint)
    with pytest.raises(ConfigError, match="nobody"):
        for_agent(LawInput(agents={}), "nobody")
