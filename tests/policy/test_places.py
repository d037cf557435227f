"""Which rule a path stands under: the longest, the strictest of equals, and what may not be moved away from its rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ferrule.policy.agent_policy import AgentPolicy, Rights, Root, policy_of
from ferrule.policy.decide import decide
from ferrule.policy.paths import judge_path, kept_inside, standing_of
from ferrule.types.access import Access, AccessRequest, Allow, Ask, Decision, Deny, Level


def policy(*roots: Root, level: Level = "full", forbidden: tuple[str, ...] = (), free: bool = False) -> AgentPolicy:
    return policy_of(
        level=level,
        workspace="/w",
        roots=roots,
        forbidden=forbidden,
        unrestricted=free,
        allowed_commands=("mv", "cp", "touch", "echo", "ls", "cat"),
    )


def command(line: str, rules: AgentPolicy) -> Decision:
    return decide(AccessRequest(tool="shell", accesses=(Access(action="command.run", target=line),)), rules)


@pytest.mark.parametrize(("first", "second"), [("read", "write"), ("write", "read")])
def test_of_equal_roots_each_takes_away_what_it_does_not_give(first: Rights, second: Rights) -> None:
    both = policy(Root("/s", first), Root("/s", second))
    assert judge_path("/s/a", "files.read", both).rule == "path.write_only"
    assert judge_path("/s/a", "files.write", both).rule == "path.read_only"


@pytest.mark.parametrize("free", [False, True])
def test_an_explicit_root_keeps_its_rights_whatever_lies_around_it(free: bool) -> None:
    rules = policy(Root("/w/ro", "read"), Root("/w/ro/in", "read_write"), Root("/w/drop", "write"), free=free)
    assert isinstance(judge_path("ro/a", "files.write", rules), Deny)
    assert isinstance(judge_path("ro/in/a", "files.write", rules), Allow)
    assert isinstance(judge_path("drop/a", "files.read", rules), Deny)
    assert isinstance(judge_path("/elsewhere", "files.write", rules), Allow if free else Deny)


def test_a_forbidden_prefix_inside_a_root_is_kept_and_a_deeper_root_is_the_operators_word() -> None:
    rules = policy(Root("/h", "read_write"), Root("/h/.ssh/public", "read"), forbidden=("/h/.ssh",))
    assert judge_path("/h/.ssh/id", "files.read", rules).rule == "path.forbidden"
    assert isinstance(judge_path("/h/.ssh/public/a", "files.read", rules), Allow)
    assert standing_of("/h/.ssh/id", rules).prefix == "/h/.ssh"
    assert judge_path("/x", "files.read", policy(forbidden=("/",), free=True)).rule == "path.forbidden"


@pytest.mark.parametrize("kept", ["/w/a/ro", "/w/a/b/no", "/w/a/b/drop"])
def test_a_folder_above_what_is_kept_is_neither_moved_nor_replaced(kept: str) -> None:
    rules = policy(
        *((Root(kept, "write" if "drop" in kept else "read"),) if "no" not in kept else ()),
        forbidden=(kept,) if "no" in kept else (),
    )
    for line in ("mv a c", "mv /w/a /w/c", "mv x a", "touch a"):
        assert isinstance(command(line, rules), Deny), line
    assert judge_path("a", "files.write", rules).rule == "path.holds_kept"
    assert isinstance(judge_path("a/x", "files.write", rules), Allow)
    assert isinstance(command("mv c d", rules), Allow)
    assert kept_inside("/w/c", rules) == ""


@pytest.mark.parametrize("path", [".git/config", ".git", "sub/.git/hooks/pre-commit", ".GIT/config", ".git/info/x"])
def test_what_makes_git_run_programs_asks_at_full_as_well(path: str) -> None:
    full = policy()
    found = judge_path(path, "files.write", full)
    assert isinstance(found, Ask)
    assert found.rule == "path.runs_code"
    assert isinstance(judge_path(path, "files.read", full), Allow)
    assert isinstance(judge_path(path, "files.write", replace(full, level="read_only")), Deny)
    for line in (f"cp x {path}", f"mv {path} y", f"echo a > {path}"):
        assert isinstance(command(line, full), Ask), line


@pytest.mark.parametrize("level", ["supervised", "full"])
@pytest.mark.parametrize("path", [".ferrule/a", ".ferrule", "sub/.Ferrule/a.toml"])
def test_settings_of_ferrule_in_a_workspace_are_written_at_no_level(level: Level, path: str) -> None:
    assert judge_path(path, "files.write", policy(level=level)).rule == "path.reserved"


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"])
def test_the_four_devices_are_readable_under_every_rule(device: str) -> None:
    for rules in (policy(level="read_only"), policy(forbidden=("/dev",)), policy(Root("/dev", "write"))):
        assert judge_path(device, "files.read", rules) == Allow(rule="path.device")
    assert isinstance(judge_path("/dev/mem", "files.read", policy()), Deny)
