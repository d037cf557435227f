from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ferrule.config.law import law_input, state_of
from ferrule.config.layout import Layout
from ferrule.config.load import load
from ferrule.policy.law import AgentLaw, for_agent
from ferrule.policy.paths import judge_path
from ferrule.types.access import Deny
from tests.config._adapters import read, settings_for

TEXT = """\
[agents.writer]
risk_profile = "own"
[agents.writer.workspace]
path = "/srv/./writer"
access = { reader = "read", default = "read_write" }
unrestricted_filesystem = true
[agents.reader]
risk_profile = "read_only"
[risk_profiles.own]
level = "full"
allowed_commands = ["ls"]
approvers = ["anna"]
"""


def test_the_law_says_what_the_operator_wrote(tmp_path: Path) -> None:
    law = law_input(read(tmp_path, TEXT), Layout(tmp_path), folders={"default": "/here", "writer": "/not/this"})
    assert law.agents == {
        "default": AgentLaw(level="supervised", workspace="/here", folder="/here"),
        "writer": AgentLaw(
            level="full",
            workspace="/srv/writer",
            folder="/not/this",
            access={"reader": "read", "default": "read_write"},
            unrestricted=True,
            allowed_commands=("ls",),
            approvers=("anna",),
        ),
        "reader": AgentLaw(level="read_only", workspace=str(tmp_path / "workspaces" / "reader")),
    }


def test_every_agent_gets_a_policy(tmp_path: Path) -> None:
    law = law_input(read(tmp_path, TEXT), Layout(tmp_path))
    assert {alias: for_agent(law, alias).level for alias in law.agents} == {
        "default": "supervised",
        "writer": "full",
        "reader": "read_only",
    }


def test_a_home_of_the_operator_is_expanded(tmp_path: Path) -> None:
    law = law_input(read(tmp_path, "[agents.default]\nworkspace.path = '~/work'\n"), Layout(tmp_path))
    assert law.agents["default"].workspace == str(Path.home() / "work")


def test_state_is_forbidden_and_workspaces_are_not(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    real = tmp_path / "dotfiles" / "real.toml"
    (home / "config.toml").symlink_to(real)
    loaded = load(tmp_path / "none.toml", settings_for=settings_for, environ={})
    place = Layout(home)
    folders = {str(home), str(home / "state"), str(home / "logs"), str(home / "vault")}
    assert set(state_of(place)) == {*folders, str(real), f"{real}.lock"}

    def allowed(path: Path, workspace: Path) -> bool:
        law = law_input(loaded, place, folders={"default": str(workspace)})
        policy = replace(for_agent(law, "default"), level="full", unrestricted=True)
        return not isinstance(judge_path(str(path), "files.write", policy), Deny)

    own = place.workspace("default")
    assert allowed(own / "a.txt", own)
    assert allowed(tmp_path / "elsewhere", own)
    for path in (place.config, place.sessions, place.log, real, home / "workspaces" / "other" / "a.txt"):
        assert not allowed(path, own)
        assert not allowed(path, tmp_path)
    assert not allowed(place.sessions, place.sessions.parent)
    assert not allowed(place.config, home)


def test_a_workspace_that_is_a_link_is_the_folder_where_it_leads(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    text = f"[agents.default]\nworkspace.path = '{tmp_path}/link'\n"
    law = law_input(read(tmp_path, text), Layout(tmp_path / "home"))
    assert for_agent(law, "default").workspace == str(real)


def test_forbidden_paths_of_a_profile_hold_where_links_lead_as_well(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    profile = f"[risk_profiles.full]\nforbidden_paths = ['{tmp_path}/link', '~/.ssh']\n"
    text = f"{profile}[agents.default]\nrisk_profile = 'full'\n"
    law = law_input(read(tmp_path, text), Layout(tmp_path / "home"), folders={"default": str(tmp_path)})
    policy = for_agent(law, "default")
    assert {str(tmp_path / "link"), str(tmp_path / "real"), str(Path.home() / ".ssh")} <= set(policy.forbidden)
    assert isinstance(judge_path("real/a", "files.read", policy), Deny)
