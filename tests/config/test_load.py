from __future__ import annotations

import os
from pathlib import Path

import pytest

from ferrule.config.load import load
from ferrule.config.problems import InvalidConfig, Problem
from ferrule.types.errors import UsageError
from ferrule.types.limits import Limits
from tests.config._adapters import Acme, Plain, Stubborn, names, read, settings_for


def faults(folder: Path, text: str, **rest: object) -> list[Problem]:
    """Load a text that has faults and return them."""
    environ = rest.get("environ")
    with pytest.raises(InvalidConfig) as raised:
        read(folder, text, environ=environ if isinstance(environ, dict) else None)
    return list(raised.value.problems)


def one(folder: Path, text: str, **rest: object) -> Problem:
    """Load a text that has exactly one fault."""
    found = faults(folder, text, **rest)
    assert len(found) == 1, found
    return found[0]


def test_an_absent_file_gives_the_agent_and_the_profiles_that_always_exist(tmp_path: Path) -> None:
    loaded = load(tmp_path / "config.toml", settings_for=settings_for, environ={})

    assert list(loaded.root.agents) == ["default"]
    assert loaded.risk_profile("default").level == "supervised"
    assert {name: profile.level for name, profile in loaded.root.risk_profiles.items()} == {
        "read_only": "read_only",
        "supervised": "supervised",
        "full": "full",
    }
    assert loaded.runtime_profile("default").limits() == Limits()
    assert loaded.provider("default") is None
    assert loaded.digest == "absent"


def test_a_misspelt_key_is_named_with_its_line_and_the_nearest_key(tmp_path: Path) -> None:
    text = "[agents.main]\n# a comment\ninstructons = 'x'\n"
    fault = one(tmp_path, text)
    assert (fault.where, fault.line, fault.key) == (str(tmp_path / "config.toml"), 3, "agents.main.instructons")
    assert fault.cause == "unknown key"
    assert fault.hint == 'did you mean "instructions"?'


def test_every_fault_is_reported_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = """\
[providers.acm.main]
model = "m"
[providers.acme.main]
retries = -1
[agents.main]
provider = "acme.man"
risk_profile = "supervisd"
runtime_profile = "fast"
tools = ["shel"]
[agents.main.workspace]
path = "here"
access = { othr = "read", main = "read" }
[agents.other]
provider = "acme"
[runtime_profiles.slow]
max_rounds = "never"
[observabilty]
log_level = "info"
[channels.telegram.main]
"""
    found = [(f.line, f.key, f.cause, f.hint) for f in faults(tmp_path, text)]
    assert found == [
        (1, "providers.acm", "there is no adapter 'acm'", 'did you mean "acme"?'),
        (3, "providers.acme.main.model", "is missing", "this key has no default"),
        (4, "providers.acme.main.retries", "should be greater than or equal to 0", ""),
        (6, "agents.main.provider", "there is no [providers.acme.man]", 'did you mean "acme.main"?'),
        (7, "agents.main.risk_profile", "there is no [risk_profiles.supervisd]", 'did you mean "supervised"?'),
        (8, "agents.main.runtime_profile", "there is no [runtime_profiles.fast]", "valid here: default, slow"),
        (9, "agents.main.tools[0]", "there is no tool 'shel'", 'did you mean "shell"?'),
        (11, "agents.main.workspace.path", 'a folder is an absolute path or begins with "~/"', ""),
        (12, "agents.main.workspace.access.othr", "there is no agent 'othr'", 'did you mean "other"?'),
        (12, "agents.main.workspace.access.main", "an agent's own workspace needs no entry", ""),
        (
            14,
            "agents.other.provider",
            'a reference is "<adapter>.<alias>", for example "acme.default"',
            "",
        ),
        (16, "runtime_profiles.slow.max_rounds", "should be a valid integer or should be 'unlimited'", ""),
        (17, "observabilty", "unknown key", 'did you mean "observability"?'),
        (19, "channels", "unknown key", "not in this version"),
    ]


def test_the_message_names_file_line_key_cause_and_fix(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig) as raised:
        read(tmp_path, "[agents.main]\ntool = []\n")
    assert str(raised.value) == (
        f'1 problem in the config:\n  {tmp_path}/config.toml:2: agents.main.tool: unknown key (did you mean "tools"?)'
    )
    assert raised.value.code == "config.invalid"


@pytest.mark.parametrize(
    ("text", "line"),
    [("[agents.main]\nx = \n", 2), ("a = 1\na = 2\n", 2), ("[agents\n", 1), ("a = '''", 1)],
    ids=["no value", "twice", "open header", "open text"],
)
def test_a_slip_in_the_syntax_is_named_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    fault = one(tmp_path, text)
    assert fault.line == line
    assert fault.cause.startswith("not TOML: ")


def test_bytes_that_are_no_text_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"# fine\n# \xff\n")
    with pytest.raises(InvalidConfig, match=r"config\.toml:2: not UTF-8 text"):
        load(path, settings_for=settings_for, environ={})


def test_lines_ended_the_windows_way_count_once(tmp_path: Path) -> None:
    assert one(tmp_path, "# one\r\n[agents.main]\r\ntool = 1\r\n").line == 3


def test_an_unreadable_file_is_not_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(InvalidConfig, match="cannot be read: Is a directory"):
        load(tmp_path / "config.toml", settings_for=settings_for, environ={})


def test_a_link_to_nowhere_is_not_an_absent_file(tmp_path: Path) -> None:
    (tmp_path / "config.toml").symlink_to(tmp_path / "gone.toml")
    with pytest.raises(InvalidConfig, match="a link to a file that is not there"):
        load(tmp_path / "config.toml", settings_for=settings_for, environ={})


@pytest.mark.parametrize(
    ("text", "key", "cause"),
    [
        ("agents = 1", "agents", "should be a table"),
        ("[agents]\nmain = 1", "agents.main", "should be a table"),
        ("providers = 1", "providers", "should be a table"),
        ("[providers]\nacme = 1", "providers.acme", "should be a table"),
        ("[providers.acme]\nmodel = 'm'", "providers.acme.model", "should be a table"),
        ("[risk_profiles.x]\nallowed_commands = []", "risk_profiles.x.level", "is missing"),
        ("[risk_profiles]\nfull = 1", "risk_profiles.full", "should be a table"),
        ("risk_profiles = 1", "risk_profiles", "should be a table"),
        (
            "[risk_profiles.full]\nlevel = 'x'",
            "risk_profiles.full.level",
            "should be 'read_only', 'supervised' or 'full'",
        ),
        (
            "[observability]\nlog_max_bytes = 1",
            "observability.log_max_bytes",
            "should be greater than or equal to 4096",
        ),
        ("[observability]\nlog_max_bytes = true", "observability.log_max_bytes", "should be a valid integer"),
        ("[runtime_profiles.x]\nmax_rounds = 0", "runtime_profiles.x.max_rounds", None),
        ("[runtime_profiles.x]\nturn_timeout_s = inf", "runtime_profiles.x.turn_timeout_s", None),
        ("[agents.main]\ninstructions = 3", "agents.main.instructions", "should be a valid string"),
        ('[agents.main.workspace]\npath = "/a\\u0000b"', "agents.main.workspace.path", None),
        ("[agents.main]\nprovider = '.x'", "agents.main.provider", None),
    ],
)
def test_a_wrong_value_is_named_by_its_key(tmp_path: Path, text: str, key: str, cause: str | None) -> None:
    found = faults(tmp_path, text)
    assert key in {fault.key for fault in found}
    assert cause is None or cause in {fault.cause for fault in found}


@pytest.mark.parametrize("alias", ["Main", "a__b", "a-b", "x" * 64])
def test_a_name_that_a_variable_could_not_address_is_refused(tmp_path: Path, alias: str) -> None:
    fault = one(tmp_path, f"[agents.{alias}]\n")
    assert (fault.key, fault.line) == (f"agents.{alias}", 1)
    assert "1 to 63 characters" in fault.cause
    assert "1 to 63 characters" in one(tmp_path, f"[providers.plain.{alias}]\n").cause


def test_a_built_in_profile_cannot_be_given_another_level(tmp_path: Path) -> None:
    fault = one(tmp_path, "[risk_profiles.read_only]\nlevel = 'full'\n")
    assert fault.cause == "the profile 'read_only' cannot have the level 'full'"


def test_a_built_in_profile_is_extended_without_repeating_its_level(tmp_path: Path) -> None:
    loaded = read(tmp_path, "[risk_profiles.supervised]\nallowed_commands = ['ls']\napprovers = ['anna']\n")
    profile = loaded.risk_profile("default")
    assert (profile.level, profile.allowed_commands, profile.approvers) == ("supervised", ("ls",), ("anna",))


def test_limits_say_unlimited_in_words(tmp_path: Path) -> None:
    text = """\
[runtime_profiles.default]
max_rounds = "unlimited"
max_tool_calls = 3
max_tokens = "unlimited"
max_cost_micro_usd = "unlimited"
turn_timeout_s = "unlimited"
parallel_tools = 2
"""
    limits = read(tmp_path, text).runtime_profile("default").limits()
    assert limits == Limits(
        rounds=None, tool_calls=3, tokens=None, cost_micro_usd=None, wall_time_s=None, parallel_tools=2
    )


def test_an_agent_without_a_provider_uses_the_only_one(tmp_path: Path) -> None:
    loaded = read(tmp_path, "[providers.acme.main]\nmodel = 'm'\n")
    assert loaded.provider("default") == "acme.main"
    settings = loaded.settings("providers", "acme.main")
    assert isinstance(settings, Acme)
    assert settings.model == "m"


def test_an_agent_that_is_written_down_chooses_among_several_providers(tmp_path: Path) -> None:
    several = "[providers.plain.a]\n[providers.plain.b]\n"
    with pytest.raises(InvalidConfig, match=r"agents\.default\.provider: names no provider, and there are several"):
        read(tmp_path, several).provider("default")
    fault = one(tmp_path, several + "[agents.main]\n")
    assert (fault.key, fault.line) == ("agents.main.provider", 3)
    assert fault.hint == 'write provider = "plain.a", for example'
    assert read(tmp_path, several + "[agents.main]\nprovider = 'plain.b'").provider("main") == "plain.b"


def test_the_default_of_an_adapter_needs_no_table(tmp_path: Path) -> None:
    loaded = read(tmp_path, "[agents.main]\nprovider = 'plain.default'\n")
    assert loaded.settings("providers", "plain.default") == Plain()


def test_the_default_of_an_adapter_that_needs_values_asks_for_them(tmp_path: Path) -> None:
    fault = one(tmp_path, "[agents.main]\nprovider = 'acme.default'\n")
    assert (fault.key, fault.cause) == ("providers.acme.default.model", "is missing")


def test_a_reference_to_an_adapter_that_is_not_installed_names_the_nearest(tmp_path: Path) -> None:
    fault = one(tmp_path, "[agents.main]\nprovider = 'plan.default'\n")
    assert fault.cause == "there is no adapter 'plan'"
    assert fault.hint == 'did you mean "plain"?'


def test_settings_without_pydantic_are_checked_as_well(tmp_path: Path) -> None:
    assert isinstance(read(tmp_path, "[providers.stubborn.x]").settings("providers", "stubborn.x"), Stubborn)
    assert one(tmp_path, "[providers.stubborn.x]\na = 1").cause == "nothing can be set here"


def test_asking_for_what_is_not_there_names_the_nearest(tmp_path: Path) -> None:
    loaded = read(tmp_path, "[agents.writer]\n[providers.plain.main]")
    with pytest.raises(UsageError, match="there is no agent 'writr'") as caught:
        loaded.agent("writr")
    assert 'did you mean "writer"' in (caught.value.hint or "")
    with pytest.raises(InvalidConfig, match=r'did you mean "plain\.main"'):
        loaded.settings("providers", "plain.man")


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    fault = one(tmp_path, "schema_version = 2\n[future]\n")
    assert (fault.line, fault.cause) == (1, "the file has version 2, this program knows 1")


@pytest.mark.parametrize("version", ["0", "-1", "true", "'1'", "1.0"])
def test_a_version_that_is_none_is_refused(tmp_path: Path, version: str) -> None:
    assert one(tmp_path, f"schema_version = {version}\n").cause == "not a version"


def test_a_file_that_others_can_read_is_a_warning_unless_it_holds_a_secret(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[providers.acme.main]\nmodel = 'm'\napi_key = { env = 'K' }\n")
    path.chmod(0o644)
    loaded = load(path, settings_for=settings_for, names=names, environ={"K": "k"})
    assert loaded.warnings == (f"{path} can be read by others: chmod 600 {path}",)

    path.write_text("[providers.acme.main]\nmodel = 'm'\napi_key = 'sk-literal'\n")
    with pytest.raises(InvalidConfig) as raised:
        load(path, settings_for=settings_for, names=names, environ={})
    assert f"chmod 600 {path}" in str(raised.value)
    assert "config.toml:3: providers.acme.main.api_key" in str(raised.value)
    assert "sk-literal" not in str(raised.value)

    path.chmod(0o600)
    assert load(path, settings_for=settings_for, names=names, environ={}).warnings == ()


def test_a_secret_from_a_variable_does_not_make_a_readable_file_wrong(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[providers.acme.main]\nmodel = 'm'\n")
    path.chmod(0o644)
    environ = {"FERRULE_PROVIDERS__ACME__MAIN__API_KEY": "sk"}
    assert len(load(path, settings_for=settings_for, names=names, environ=environ).warnings) == 1


def test_only_adapters_that_are_named_are_imported(tmp_path: Path) -> None:
    asked: list[str] = []

    def watch(kind: object, name: str) -> None:
        asked.append(f"{kind}.{name}")

    path = tmp_path / "config.toml"
    load(path, settings_for=watch, names=names, environ=dict(os.environ))
    assert asked == []
