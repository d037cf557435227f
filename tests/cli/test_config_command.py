from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ferrule.cli.config_command import config
from ferrule.types.errors import ConfigError, UsageError

CONFIG = """\
[providers.openai.main]
model = "m"
api_key = "sk-literal"      # secret

[agents.writer]
instructions = "be brief"   # short
"""

Run = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    (folder / "config.toml").write_text(CONFIG)
    (folder / "config.toml").chmod(0o600)
    return folder


@pytest.fixture
def run(home: Path) -> Run:
    """Run the command in this process."""

    def invoke(*arguments: str, **environ: str) -> Result:
        return CliRunner().invoke(config, list(arguments), env={"FERRULE_HOME": str(home), **environ})

    return invoke


def process(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a program."""
    return subprocess.run(
        [sys.executable, "-m", "ferrule", "config", *arguments],
        env={**os.environ, "FERRULE_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_valid_config_is_said_to_be_so(run: Run, home: Path) -> None:
    result = run("validate")
    assert (result.exit_code, result.output) == (0, f"{home}/config.toml: no problems\n")


def test_faults_go_to_standard_error_with_exit_code_2(home: Path) -> None:
    path = home / "config.toml"
    path.write_text(CONFIG + "instructons = 'x'\n[chanels.telegram]\n")
    done = process(home, "validate")
    assert done.returncode == 2
    assert done.stdout == ""
    assert f'{path}:7: agents.writer.instructons: unknown key (did you mean "instructions"?)' in done.stderr
    assert f"{path}:8: chanels: unknown key" in done.stderr
    assert "Traceback" not in done.stderr


def test_only_named_agents_need_their_secrets(run: Run, home: Path) -> None:
    (home / "config.toml").write_text(
        "[providers.openai.main]\nmodel = 'm'\napi_key = { env = 'NO_SUCH_KEY' }\n"
        "[agents.a]\nprovider = 'openai.main'\n[agents.b]\nprovider = 'local.default'\n"
    )
    assert run("validate", "--agent", "b").exit_code == 0
    assert "NO_SUCH_KEY is not set" in str(run("validate", "--agent", "a").exception)
    assert "NO_SUCH_KEY is not set" in str(run("validate").exception)
    assert "there is no agent 'c'" in str(run("validate", "--agent", "c").exception)


def test_a_readable_config_is_warned_about(run: Run, home: Path) -> None:
    (home / "config.toml").write_text("")
    (home / "config.toml").chmod(0o644)
    assert f"chmod 600 {home}/config.toml" in run("validate").stderr


def test_get_prints_the_bare_value_and_its_origin_when_asked(run: Run, home: Path) -> None:
    assert run("get", "agents.writer.instructions").output == "be brief\n"
    assert run("get", "runtime_profiles.default.max_rounds").output == "25\n"
    shown = run("get", "agents.writer.instructions", "--origin").output
    assert shown == f"be brief  # file {home}/config.toml:6\n"
    shown = run("get", "agents.writer.instructions", "--origin", FERRULE_AGENTS__WRITER__INSTRUCTIONS="no").output
    assert shown == "no  # environment FERRULE_AGENTS__WRITER__INSTRUCTIONS\n"
    assert run("get", "agents.writer.tools", "--origin").output == "all  # default\n"


def test_get_prints_all_keys_of_a_table(run: Run) -> None:
    assert run("get", "observability").output == (
        'observability.log_level = "info"\nobservability.log_max_bytes = 10000000\n'
    )
    assert json.loads(run("get", "observability.log_level", "--json").output) == {
        "observability.log_level": {"value": "info", "origin": "default"}
    }


def test_a_key_that_is_not_there_is_an_error_with_the_nearest(run: Run) -> None:
    result = run("get", "observability.log_levl")
    assert isinstance(result.exception, UsageError)
    assert "log_level" in (result.exception.hint or "")


def test_secrets_are_masked_wherever_the_config_is_shown(run: Run, home: Path) -> None:
    key = "providers.openai.main.api_key"
    assert run("get", key).output == "***\n"
    for arguments in (("list",), ("list", "--json"), ("get", "providers"), ("get", "providers", "--json", "--origin")):
        shown = run(*arguments)
        assert "sk-literal" not in shown.output
        assert "***" in shown.output
    assert "sk-env" not in run("list", FERRULE_PROVIDERS__OPENAI__MAIN__API_KEY="sk-env").output

    (home / "config.toml").write_text(CONFIG + "provider = 3\n")
    assert "sk-literal" not in str(run("list").exception)


def test_list_prints_defaults_and_origins(run: Run, home: Path) -> None:
    lines = run("list", "--origin").output.splitlines()
    assert 'providers.openai.main.api_key = "***"  # file ' + f"{home}/config.toml:3" in lines
    assert 'risk_profiles.read_only.approvers = ["operator"]  # default' in lines
    rows = json.loads(run("list", "--json").output)
    assert rows["agents.default.workspace.path"] == {"value": f"{home}/workspaces/default", "origin": "default"}


def test_a_reference_to_a_secret_is_shown(run: Run) -> None:
    assert run("set", "providers.openai.main.api_key", '{ env = "K" }').exit_code == 0
    assert run("get", "providers.openai.main.api_key").output == '{ env = "K" }\n'


def test_control_signs_in_the_config_do_not_reach_the_terminal(run: Run) -> None:
    assert run("set", "agents.writer.instructions", '"\\u001b[31m"').exit_code == 0
    assert "\x1b" not in run("get", "agents.writer.instructions").output
    assert "\x1b" not in run("list").output


def test_set_changes_one_line_and_unset_takes_it_back(run: Run, home: Path) -> None:
    path = home / "config.toml"
    assert run("set", "agents.writer.instructions", "be long").output == ""
    assert path.read_text() == CONFIG.replace('"be brief"', '"be long"')
    assert run("set", "agents.writer.risk_profile", "read_only").exit_code == 0
    assert run("unset", "agents.writer.risk_profile").exit_code == 0
    assert path.read_text() == CONFIG.replace('"be brief"', '"be long"')


def test_saving_what_was_shown_does_not_save_the_mask(run: Run, home: Path) -> None:
    result = run("set", "providers.openai.main.api_key", "***")
    assert "mask" in str(result.exception)
    assert (home / "config.toml").read_text() == CONFIG


def test_a_change_that_a_variable_hides_is_said_so(run: Run) -> None:
    hidden = run("set", "agents.writer.instructions", "x", FERRULE_AGENTS__WRITER__INSTRUCTIONS="y")
    assert hidden.stderr == "note: FERRULE_AGENTS__WRITER__INSTRUCTIONS is set and wins over the file\n"


def test_a_stale_change_is_a_conflict(run: Run) -> None:
    result = run("set", "agents.writer.instructions", "x", "--expect", "0" * 64)
    assert isinstance(result.exception, ConfigError)
    assert result.exception.code == "config.conflict"


def test_the_schema_is_one_document_that_accepts_the_config(run: Run) -> None:
    schema = json.loads(run("schema").output)
    assert schema["additionalProperties"] is False
    assert {"providers", "agents", "risk_profiles"} <= set(schema["properties"])
    assert {"openai", "local"} <= set(schema["properties"]["providers"]["properties"])
    targets = [node["$ref"] for node in _nodes(schema) if "$ref" in node]
    assert all(target.removeprefix("#/$defs/") in schema["$defs"] for target in targets)


def _nodes(value: object) -> list[dict[str, str]]:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    own = [value] if isinstance(value, dict) and isinstance(value.get("$ref"), str) else []
    return own + [node for item in inner for node in _nodes(item)]


def test_the_path_is_printed_whether_or_not_it_is_there(run: Run, home: Path) -> None:
    (home / "config.toml").unlink()
    assert run("path").output == f"{home}/config.toml\n"


def test_migrating_a_current_file_says_so(run: Run, home: Path) -> None:
    assert run("migrate").output == f"{home}/config.toml: already version 1\n"
    (home / "config.toml").write_text("schema_version = 9\n")
    assert "this program knows 1" in str(run("migrate").exception)


def test_a_home_that_others_may_enter_is_refused_with_the_fix(run: Run, home: Path) -> None:
    home.chmod(0o755)
    result = run("path")
    assert isinstance(result.exception, ConfigError)
    assert result.exception.hint == f"chmod 700 {home}"


def test_a_writer_killed_at_any_moment_loses_nothing_and_leaves_nothing_behind() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benches.soak.crash_config", "--seeds", "0:10"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert json.loads(done.stdout) == {
        "kills": 10,
        "lost": 0,
        "failed_starts": 0,
        "changed_modes": 0,
        "links_replaced": 0,
        "lost_comments": 0,
        "left_behind": 0,
    }, done.stderr
