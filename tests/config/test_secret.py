from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.config.layout import Layout
from ferrule.config.load import load
from ferrule.config.problems import InvalidConfig
from ferrule.config.secret import MASK, Sources, masked, named_secrets, namespace_of, reveal, sealed_values
from ferrule.config.shape import Shape, shape_of
from ferrule.config.values import lookup, values
from ferrule.storage.vault import INSTALL, Vault, agent_namespace, vault_in
from ferrule.types.errors import UsageError
from tests.config._adapters import ADAPTERS, Acme, names, read, settings_for

HEAD = "[providers.acme.main]\nmodel = 'm'\n"
HERE = ("providers", "acme", "main")


@pytest.fixture(scope="module")
def shape() -> Shape:
    return shape_of(ADAPTERS, {"providers": ["acme"]})


def key_of(folder: Path, line: str, environ: dict[str, str] | None = None) -> str | None:
    """Load a config with one secret and return what the adapter was given."""
    settings = read(folder, HEAD + line, environ=environ).settings("providers", "acme.main")
    assert isinstance(settings, Acme)
    return settings.api_key.get_secret_value() if settings.api_key else None


def test_a_reference_is_replaced_by_the_variable(tmp_path: Path) -> None:
    assert key_of(tmp_path, "api_key = { env = 'K' }", {"K": "sk-1"}) == "sk-1"


def test_text_is_taken_as_it_stands(tmp_path: Path) -> None:
    assert key_of(tmp_path, "api_key = 'sk-$1-{x}'") == "sk-$1-{x}"
    assert key_of(tmp_path, "api_key = '$${K}'") == "${K}"


@pytest.mark.parametrize(("environ", "state"), [({}, "not set"), ({"K": ""}, "empty")])
def test_a_variable_that_is_unset_or_empty_is_named_with_its_key(
    tmp_path: Path, environ: dict[str, str], state: str
) -> None:
    with pytest.raises(InvalidConfig) as raised:
        read(tmp_path, HEAD + "api_key = { env = 'K' }", environ=environ)
    (fault,) = raised.value.problems
    assert (fault.line, fault.key) == (3, "providers.acme.main.api_key")
    assert fault.cause == f"the environment variable K is {state}"


def test_a_variable_matters_only_to_the_agents_that_run(tmp_path: Path) -> None:
    text = """\
[providers.acme.a]
model = "m"
api_key = { env = "A" }
[providers.acme.b]
model = "m"
api_key = { env = "B" }
[agents.one]
provider = "acme.a"
[agents.two]
provider = "acme.b"
"""
    loaded = read(tmp_path, text, environ={"A": "sk-a"}, agents=["one"])
    assert loaded.secrets == ("sk-a",)
    loaded.settings("providers", "acme.a")
    with pytest.raises(InvalidConfig, match="the environment variable B is not set"):
        loaded.settings("providers", "acme.b")
    with pytest.raises(InvalidConfig, match="the environment variable B is not set"):
        read(tmp_path, text, environ={"A": "sk-a"}, agents=["two"])
    with pytest.raises(InvalidConfig, match="the environment variable A is not set"):
        read(tmp_path, HEAD + "api_key = { env = 'A' }", agents=["default"])


def test_a_table_with_an_unset_variable_is_checked_all_the_same(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig) as raised:
        read(tmp_path, HEAD + "api_key = { env = 'K' }\nretries = -1", agents=())
    assert [fault.key for fault in raised.value.problems] == ["providers.acme.main.retries"]


@pytest.mark.parametrize(
    ("line", "cause", "hint"),
    [
        ("api_key = '${K}'", "variables inside text are not expanded", '{ env = "K" }'),
        ("api_key = 'Bearer ${K}'", "variables inside text are not expanded", '{ env = "K" }'),
        ("api_key = '${}'", "variables inside text are not expanded", '{ env = "NAME" }'),
        ("api_key = '***'", "the value is the mask that is shown instead of a secret", "write the secret itself"),
        ("api_key = { file = 'x' }", "not a secret", '{ env = "NAME" }'),
        ("api_key = { env = 3 }", "not a secret", '{ env = "NAME" }'),
        ("api_key = 3", "should be a valid string", ""),
        (
            "base_url = '${URL}'",
            "variables inside text are not expanded",
            "set FERRULE_PROVIDERS__ACME__MAIN__BASE_URL instead",
        ),
        ("headers = [{ name = '${N}', token = 't' }]", "variables inside text are not expanded", ""),
        ("headers = [{ name = 'n', token = '${T}' }]", "variables inside text are not expanded", '{ env = "T" }'),
    ],
)
def test_what_is_no_secret_is_refused_before_anything_is_sent(tmp_path: Path, line: str, cause: str, hint: str) -> None:
    with pytest.raises(InvalidConfig) as raised:
        read(tmp_path, HEAD + line, environ={"K": "sk"})
    (fault,) = raised.value.problems
    assert (fault.line, fault.cause) == (3, cause)
    assert hint in fault.hint


def test_every_secret_reaches_the_guard(tmp_path: Path) -> None:
    text = HEAD + "api_key = 'sk-1'\nheaders = [{ name = 'n', token = { env = 'T' } }, { name = 'o', token = 'sk-3' }]"
    loaded = read(tmp_path, text, environ={"T": "sk-2"})
    assert loaded.secrets == ("sk-1", "sk-2", "sk-3")


def test_secrets_are_masked_in_every_nesting_and_references_are_shown(shape: Shape) -> None:
    table = {
        "model": "m",
        "api_key": {"env": "K"},
        "headers": [{"name": "n", "token": "sk-1"}, {"name": "o", "token": {"env": "T", "x": "sk-2"}}],
    }
    assert masked(table, path=HERE, shape=shape) == {
        "model": "m",
        "api_key": {"env": "K"},
        "headers": [{"name": "n", "token": MASK}, {"name": "o", "token": MASK}],
    }


def test_a_key_that_no_schema_knows_is_masked_by_its_name(shape: Shape) -> None:
    table = {"bot_token": "sk-1", "x": [{"password": ["sk-2"]}], "size": 3}
    assert masked(table, path=("channels", "chat", "main"), shape=shape) == {
        "bot_token": MASK,
        "x": [{"password": MASK}],
        "size": 3,
    }


@given(
    key=st.text(min_size=4, alphabet="kqz4"),
    tokens=st.lists(st.text(min_size=4, alphabet="kqz4"), max_size=3),
)
def test_no_secret_text_survives_the_mask(key: str, tokens: list[str]) -> None:
    grammar = shape_of(ADAPTERS, {"providers": ["acme"]})
    table = {"model": "m", "api_key": key, "headers": [{"name": "n", "token": token} for token in tokens]}
    shown = repr(masked(table, path=HERE, shape=grammar))
    assert all(secret not in shown for secret in [key, *tokens])
    revealed = reveal(table, path=HERE, shape=grammar, sources=Sources(environ={}))
    assert revealed.table == table
    assert revealed.values == [key, *tokens]


def test_values_show_masks_origins_and_defaults(tmp_path: Path) -> None:
    text = HEAD + "api_key = 'sk-1'\nheaders = [{ name = 'n', token = 'sk-2' }]\n[agents.main]\n"
    loaded = read(
        tmp_path,
        text,
        environ={"FERRULE_AGENTS__MAIN__INSTRUCTIONS": "true"},
        flags={"providers.acme.main.retries": "7", "agents.main.workspace.access.default": "read"},
    )
    rows = {row.key: (row.value, str(row.origin)) for row in values(loaded, Layout(tmp_path))}
    file = tmp_path / "config.toml"
    assert rows["providers.acme.main.model"] == ("m", f"file {file}:2")
    assert rows["providers.acme.main.api_key"] == (MASK, f"file {file}:3")
    assert rows["providers.acme.main.headers"] == ([{"name": "n", "token": MASK}], f"file {file}:4")
    assert rows["providers.acme.main.retries"] == (7, "flag --set providers.acme.main.retries")
    assert rows["providers.acme.main.base_url"] == ("http://127.0.0.1:1", "default")
    assert rows["agents.main.instructions"] == ("true", "environment FERRULE_AGENTS__MAIN__INSTRUCTIONS")
    assert rows["agents.main.workspace.access.default"][0] == "read"
    assert rows["agents.main.workspace.path"] == (str(tmp_path / "workspaces" / "main"), "default")
    assert rows["agents.default.risk_profile"] == ("supervised", "default")
    assert rows["risk_profiles.full.level"] == ("full", "default")
    assert rows["observability.log_level"] == ("info", "default")
    assert rows["runtime_profiles.default.max_rounds"] == (25, "default")
    assert not any("sk-" in str(row) for row in rows.values())


def test_one_key_or_all_of_a_table_can_be_looked_up(tmp_path: Path) -> None:
    loaded = load(tmp_path / "config.toml", settings_for=settings_for, names=names, environ={})
    place = Layout(tmp_path)
    assert [row.value for row in lookup(loaded, place, "observability.log_level")] == ["info"]
    assert [row.key for row in lookup(loaded, place, "observability")] == [
        "observability.log_level",
        "observability.log_max_bytes",
    ]
    with pytest.raises(UsageError, match="there is no key") as caught:
        lookup(loaded, place, "observability.log_leve")
    assert 'did you mean "observability.log_level"' in (caught.value.hint or "")


KEY = "providers.acme.main.api_key"


def sealed(folder: Path, text: str, place: str = KEY, namespace: str = INSTALL) -> str:
    """Encrypt for the home `folder`."""
    with vault_in(folder / "vault", {}).writing() as writing:
        return writing.seal(text, namespace=namespace, place=place)


def keep(vault: Vault, name: str, text: str, namespace: str = INSTALL) -> None:
    with vault.writing() as writing:
        writing.put(namespace, name, text)


def faults_of(folder: Path, line: str, agents: list[str] | None = None) -> list[tuple[int, str, str]]:
    """Load a config with one faulty secret; return line, key and cause of each fault."""
    with pytest.raises(InvalidConfig) as raised:
        read(folder, HEAD + line, agents=agents)
    assert all(fault.hint for fault in raised.value.problems)
    return [(fault.line, fault.key, fault.cause) for fault in raised.value.problems]


def test_an_encrypted_value_opens_at_its_key_and_reaches_the_guard(tmp_path: Path) -> None:
    line = f"api_key = '{sealed(tmp_path, 'sk-1')}'"
    assert key_of(tmp_path, line) == "sk-1"
    loaded = read(tmp_path, HEAD + line)
    assert loaded.secrets == ("sk-1", (tmp_path / "vault/key").read_text().strip()), "the key itself, too"


def test_an_encrypted_value_may_come_from_outside_the_file(tmp_path: Path) -> None:
    value = sealed(tmp_path, "sk-1")
    assert key_of(tmp_path, "", {"FERRULE_PROVIDERS__ACME__MAIN__API_KEY": value}) == "sk-1"


def test_a_named_secret_is_found_in_the_vault(tmp_path: Path) -> None:
    keep(vault_in(tmp_path / "vault", {}), "openai", "sk-1")
    assert key_of(tmp_path, "api_key = { secret = 'openai' }") == "sk-1"
    assert faults_of(tmp_path, "api_key = { secret = 'other' }") == [(3, KEY, "there is no secret 'other'")]


def test_encrypted_values_inside_lists_have_places_of_their_own(tmp_path: Path) -> None:
    value = sealed(tmp_path, "sk-2", "providers.acme.main.headers[0].token")
    settings = read(tmp_path, HEAD + f"headers = [{{ name = 'n', token = '{value}' }}]").settings(
        "providers", "acme.main"
    )
    assert isinstance(settings, Acme)
    assert settings.headers[0].token.get_secret_value() == "sk-2"


def test_each_way_in_which_a_value_does_not_open_is_told_apart(tmp_path: Path) -> None:
    value = sealed(tmp_path, "sk-canary")
    swapped = sealed(tmp_path, "sk-canary", "providers.acme.b.api_key")
    foreign = sealed(tmp_path, "sk-canary", namespace=agent_namespace("anna"))
    elsewhere = sealed(tmp_path / "other", "sk-canary")
    causes = {
        value[:-4]: "the encrypted value is cut off",
        value[:-4] + "AAAA": f"the encrypted value of '{KEY}' was altered",
        value[:-4] + "ß": "the encrypted value holds a character that cannot be in one",
        "enc2:": "the encrypted value is cut off",
        swapped: f"the value was encrypted for providers.acme.b.api_key, and stands at {KEY}",
        foreign: f"the value belongs to agent/anna, and stands at {KEY} of install",
        elsewhere: "the value was encrypted with the key",
    }
    for text, cause in causes.items():
        ((line, key, found),) = faults_of(tmp_path, f"api_key = '{text}'")
        assert (line, key) == (3, KEY)
        assert found.startswith(cause)
    (tmp_path / "vault/key").chmod(0o644)
    assert faults_of(tmp_path, f"api_key = '{value}'") == [(3, KEY, f"{tmp_path}/vault/key can be read by others")]
    (tmp_path / "vault/key").unlink()
    ((_, _, found),) = faults_of(tmp_path, f"api_key = '{value}'")
    assert found.endswith("and there is no key")


def test_values_that_do_not_open_stop_only_those_who_use_them(tmp_path: Path) -> None:
    text = f"""\
[providers.acme.a]
model = "m"
api_key = "{sealed(tmp_path, "sk-1", "providers.acme.a.api_key")}"
[providers.acme.b]
model = "m"
api_key = "{sealed(tmp_path / "other", "sk-2", "providers.acme.b.api_key")}"
[agents.one]
provider = "acme.a"
[agents.two]
provider = "acme.b"
"""
    loaded = read(tmp_path, text, agents=["one"])
    loaded.settings("providers", "acme.a")
    with pytest.raises(
        InvalidConfig, match=r"config.toml:6: providers\.acme\.b\.api_key: the value was encrypted with"
    ):
        loaded.settings("providers", "acme.b")
    with pytest.raises(InvalidConfig, match=r"providers\.acme\.b\.api_key"):
        read(tmp_path, text, agents=["two"])


def test_an_encrypted_value_in_a_file_that_others_can_read_is_a_warning_only(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(HEAD + f"api_key = '{sealed(tmp_path, 'sk-1')}'")
    path.chmod(0o644)
    loaded = load(path, settings_for=settings_for, names=names, environ={})
    assert [warning.partition(": ")[2] for warning in loaded.warnings] == [f"chmod 600 {path}"]


def test_encrypted_values_are_masked_and_references_are_shown(tmp_path: Path, shape: Shape) -> None:
    value = sealed(tmp_path, "sk-1")
    table = {"api_key": value, "headers": [{"name": "n", "token": {"secret": "t"}}]}
    assert masked(table, path=HERE, shape=shape) == {
        "api_key": MASK,
        "headers": [{"name": "n", "token": {"secret": "t"}}],
    }


def test_without_a_vault_values_stay_closed(shape: Shape) -> None:
    found = reveal({"api_key": "enc2:AAAA"}, path=HERE, shape=shape, sources=Sources(environ={}))
    assert (found.table, found.values, found.literal, found.faults) == ({"api_key": MASK}, [], [], [])
    assert [at for at, _, _ in found.unset] == [(*HERE, "api_key")]


def test_secrets_below_an_agent_belong_to_it() -> None:
    assert namespace_of(("agents", "anna", "token")) == agent_namespace("anna")
    assert namespace_of(("agents",)) == INSTALL
    assert namespace_of(HERE) == INSTALL


def test_what_the_config_uses_is_found_without_a_schema() -> None:
    data = {"a": {"k": "enc2:x", "l": [{"m": {"secret": "n"}}, "enc2:y"]}, "b": {"secret": 3}, "c": "plain"}
    assert list(sealed_values(data)) == [(("a", "k"), "enc2:x"), (("a", "l", 1), "enc2:y")]
    assert list(named_secrets(data)) == [(("a", "l", 0, "m"), "n")]
