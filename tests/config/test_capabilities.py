"""``[[capabilities]]``, ``[security.tools]`` and ``[agents.<alias>.show]``, from the file to the policy."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.config.law import law_input
from ferrule.config.layout import Layout
from ferrule.policy.agent_policy import AgentPolicy
from ferrule.policy.law import for_agent, resolved
from ferrule.types.capability import Grant
from ferrule.types.errors import ConfigError
from tests.config._adapters import read
from tests.config.test_load import faults

SIBLINGS = "[agents.main]\n[agents.main.workspace]\npath = '/srv/[main]'\n[agents.other]\n"


def policy(tmp_path: Path, text: str, alias: str = "main") -> AgentPolicy:
    return for_agent(law_input(read(tmp_path, text), Layout(tmp_path), folders={"main": "/here"}), alias)


@pytest.mark.parametrize(
    ("glob", "inside", "outside"),
    [
        ("workspace:src/**", "/srv/[main]/src/a", "/srv/m/src/a"),
        ("src/**", "/srv/[main]/src/a", "/srv/[main]/b"),
        ("cwd:**", "/here/a", "/srv/[main]/a"),
        ("agent/main:*.md", "/srv/[main]/a.md", "/srv/[main]/b/a.md"),
        ("/etc/*", "/etc/hosts", "/srv/[main]/a"),
        ("~/**", str(Path.home() / "a"), "/srv/[main]/a"),
    ],
)
def test_a_pattern_begins_in_a_folder_with_a_name(tmp_path: Path, glob: str, inside: str, outside: str) -> None:
    found = policy(tmp_path, f"{SIBLINGS}[[capabilities]]\ntype = 'file_read'\nglob = '{glob}'\n").capabilities
    assert found.allows_file_read(inside)
    assert not found.allows_file_read(outside)
    assert not found.allows_tool("file_read")


def test_every_type_becomes_its_grant(tmp_path: Path) -> None:
    text = (
        "[[capabilities]]\ntype = 'tool'\nname = 'a_*'\n"
        "[[capabilities]]\ntype = 'file_write'\nglob = '/x'\neffect = 'deny'\n"
        "[[capabilities]]\ntype = 'shell'\ncommands = ['git', 'ls']\n"
        "[[capabilities]]\ntype = 'network'\ndomains = ['*.a.test']\n"
        "[[capabilities]]\ntype = 'memory'\n"
    )
    assert policy(tmp_path, text, "default").capabilities.layers == (
        (
            Grant(kind="tool", patterns=("a_*",)),
            Grant(kind="file_write", patterns=("/x",), effect="deny"),
            Grant(kind="shell", patterns=("git", "ls")),
            Grant(kind="network", patterns=("*.a.test",)),
            Grant(kind="memory"),
        ),
    )


@pytest.mark.parametrize(
    ("entry", "cause"),
    [
        ("type = 'tool'", "a capability of the type tool needs 'name'"),
        ("type = 'shell'\nname = 'x'", "a capability of the type shell needs 'commands'"),
        ("type = 'memory'\nname = 'x'", "a capability of the type memory takes no 'name'"),
        ("type = 'tool'\nname = 'x'\nglob = 'y'", "a capability of the type tool takes no 'glob'"),
        ("type = 'delegate'", "should be 'tool', 'file_read', 'file_write', 'shell', 'network' or 'memory'"),
        ("type = 'file_read'\nglob = 'home:x'", "'home' names no folder"),
        ("type = 'file_read'\nglob = 'agent/mian:x'", "there is no agent 'mian'"),
    ],
)
def test_a_capability_that_says_nothing_is_refused_with_its_line(tmp_path: Path, entry: str, cause: str) -> None:
    (found,) = faults(tmp_path, f"{SIBLINGS}[[capabilities]]\n{entry}\n")
    assert found.cause == cause
    assert found.key.startswith("capabilities[0]")
    assert found.line >= 5


def test_an_agent_without_a_list_has_that_of_all_and_one_with_a_list_has_what_both_grant(tmp_path: Path) -> None:
    text = (
        f"{SIBLINGS}[[agents.other.capabilities]]\ntype = 'tool'\nname = '*'\n"
        "[[capabilities]]\ntype = 'tool'\nname = 'file_*'\n"
    )
    main, other = policy(tmp_path, text).capabilities, policy(tmp_path, text, "other").capabilities
    assert main.allows_tool("file_read")
    assert other.allows_tool("file_read")
    assert not main.allows_tool("shell")
    assert not other.allows_tool("shell")
    assert other.is_within(main)


def test_denials_alone_leave_the_switches_in_force(tmp_path: Path) -> None:
    text = "[security.tools]\nshell = false\n[[capabilities]]\ntype = 'tool'\nname = 'file_edit'\neffect = 'deny'\n"
    loaded = read(tmp_path, text)
    assert loaded.warnings == ()
    found = for_agent(law_input(loaded, Layout(tmp_path)), "default").capabilities
    assert [name for name in ("file_read", "file_edit", "shell", "memory_store") if found.allows_tool(name)] == [
        "file_read",
        "memory_store",
    ]


def test_with_grants_the_switches_are_ignored_and_named(tmp_path: Path) -> None:
    text = "[security.tools]\nshell = false\nfiles = true\n[[capabilities]]\ntype = 'tool'\nname = 'shell'\n"
    loaded = read(tmp_path, text)
    assert for_agent(law_input(loaded, Layout(tmp_path)), "default").capabilities.allows_tool("shell")
    (warning,) = loaded.warnings
    assert "security.tools.files, security.tools.shell" in warning


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        ("", ["file_read", "file_write", "shell"]),
        ("[agents.main.show]\n", []),
        ("[agents.main.show]\ntools = ['file_*']\n", ["file_read", "file_write"]),
        ("[agents.main.show]\ntools = []\n", []),
        ("[agents.main.show]\ntools = { deny = ['*_write'] }\n", ["file_read", "shell"]),
    ],
)
def test_a_table_of_show_lists_hides_what_it_does_not_name(tmp_path: Path, table: str, shown: list[str]) -> None:
    found = policy(tmp_path, f"[agents.main]\n{table}").show
    assert [name for name in ("file_read", "file_write", "shell") if all(one.shows(name) for one in found)] == shown


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match="no folder here") as caught:
        resolved((Grant(kind="file_read", patterns=("home:x",)),), {"workspace": "/w"})
    assert caught.value.hint == "known: workspace"
