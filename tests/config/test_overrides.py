from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.config.problems import InvalidConfig
from tests.config._adapters import Acme, read

TEXT = "[providers.acme.main]\nmodel = 'file'\n"
VARIABLE = "FERRULE_PROVIDERS__ACME__MAIN__MODEL"


def model(folder: Path, text: str, environ: dict[str, str], flags: dict[str, str]) -> tuple[str, str]:
    """Load, and return the model with its origin."""
    loaded = read(folder, text, environ=environ, flags=flags)
    settings = loaded.settings("providers", "acme.main")
    assert isinstance(settings, Acme)
    return settings.model, str(loaded.document.origin(("providers", "acme", "main", "model")))


def test_a_flag_beats_a_variable_beats_the_file(tmp_path: Path) -> None:
    flags = {"providers.acme.main.model": "flag"}
    file = tmp_path / "config.toml"
    assert model(tmp_path, TEXT, {VARIABLE: "variable"}, flags) == ("flag", "flag --set providers.acme.main.model")
    assert model(tmp_path, TEXT, {VARIABLE: "variable"}, {}) == ("variable", f"environment {VARIABLE}")
    assert model(tmp_path, TEXT, {}, {}) == ("file", f"file {file}:2")


def test_a_variable_alone_makes_a_table(tmp_path: Path) -> None:
    assert model(tmp_path, "", {VARIABLE: "variable"}, {})[0] == "variable"


def test_a_variable_without_a_double_underscore_is_no_key(tmp_path: Path) -> None:
    read(tmp_path, "", environ={"FERRULE_HOME": "/x", "FERRULE_LOG": "1", "OTHER__KEY": "1"})


def test_values_of_variables_are_toml_where_the_key_is_not_text(tmp_path: Path) -> None:
    environ = {
        "FERRULE_AGENTS__MAIN__TOOLS": '["shell"]',
        "FERRULE_RUNTIME_PROFILES__DEFAULT__MAX_ROUNDS": "unlimited",
        "FERRULE_RUNTIME_PROFILES__DEFAULT__MAX_TOKENS": "7",
        "FERRULE_AGENTS__MAIN__INSTRUCTIONS": "12",
        "FERRULE_AGENTS__MAIN__WORKSPACE__UNRESTRICTED_FILESYSTEM": "true",
    }
    loaded = read(tmp_path, "", environ=environ)
    agent = loaded.agent("main")
    assert agent.tools == ("shell",)
    assert agent.instructions == "12"
    assert agent.workspace.unrestricted_filesystem is True
    limits = loaded.runtime_profile("main").limits()
    assert (limits.rounds, limits.tokens) == (None, 7)


def test_a_secret_from_a_variable_is_text_or_a_reference(tmp_path: Path) -> None:
    name = "FERRULE_PROVIDERS__ACME__MAIN__API_KEY"
    for text, environ in (("12345", {}), ('{ env = "K" }', {"K": "12345"})):
        loaded = read(tmp_path, TEXT, environ={name: text, **environ})
        assert loaded.secrets == ("12345",)


@pytest.mark.parametrize(
    ("name", "value", "cause"),
    [
        ("FERRULE_AGENTS__MAIN__INSTRUCTONS", "x", "unknown key"),
        ("FERRULE_GATEWAY__PORT", "1", "unknown key"),
        ("FERRULE_RUNTIME_PROFILES__DEFAULT__MAX_ROUNDS", "0", "should be greater than or equal to 1"),
        ("FERRULE_PROVIDERS__ACM__MAIN__MODEL", "x", "there is no adapter 'acm'"),
        ("FERRULE_SCHEMA_VERSION__X", "1", "a plain value stands where this needs a table"),
    ],
)
def test_a_fault_of_a_variable_names_the_variable(tmp_path: Path, name: str, value: str, cause: str) -> None:
    with pytest.raises(InvalidConfig) as raised:
        read(tmp_path, "schema_version = 1\n", environ={name: value})
    assert [(fault.where, fault.line) for fault in raised.value.problems if cause in fault.cause] == [(name, 0)]


def test_a_fault_of_a_flag_names_the_flag(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match=r"--set agents\.main\.tool: agents\.main\.tool: unknown key"):
        read(tmp_path, "", flags={"agents.main.tool": "1"})
