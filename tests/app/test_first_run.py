"""The first config: what is offered, how it is tested, what is written."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ferrule.app.first_run import (
    Choice,
    Offer,
    config_text,
    models_of,
    offers,
    preferred,
    typed_offer,
    write_first_config,
)
from ferrule.app.home import read_home
from ferrule.config.layout import Layout
from ferrule.testing.mock_llm import MockLLM, say
from ferrule.types.errors import FerruleError, ProviderError, UsageError
from tests.providers._vendor import vendor, whole

KEY = "OPENAI_API_KEY"
DEMO = Offer(label="demo", adapter="local")


async def test_the_environment_comes_first_and_the_demo_model_last() -> None:
    found = await offers({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "k", "OPENAI_MODEL": "m"})
    assert (found[0].base_url, found[0].variable, found[0].models) == (
        "http://127.0.0.1:9/v1",
        "OPENAI_API_KEY",
        ("m",),
    )
    assert found[-1].adapter == "local"
    assert [offer.adapter for offer in await offers({})][-1:] == ["local"]


async def test_a_server_that_lists_its_models_is_right() -> None:
    async with MockLLM([say("x")], models=("first", "second")) as server:
        assert await models_of(typed_offer(server.base_url), "", {}) == ("first", "second")
        native = Offer(label="o", adapter="ollama", base_url=server.ollama_url)
        assert await models_of(native, "", {}) == ("first", "second")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (whole(b"", status="401 Unauthorized"), "refuses the key"),
        (whole(b"", status="404 Not Found"), "answered 404"),
        (whole(b"<html>"), "no model server"),
        (whole(b'{"data": 1}'), "no model server"),
    ],
)
async def test_one_that_does_not_is_told_with_the_fix(answer: list[bytes], said: str) -> None:
    async with vendor(answer) as server:
        with pytest.raises(ProviderError, match=said) as caught:
            await models_of(typed_offer(f"{server.url}/v1"), "canary-key", {})
    assert caught.value.hint
    assert "canary" not in str(caught.value)
    with pytest.raises(ProviderError, match="connection refused"):
        await models_of(typed_offer("http://127.0.0.1:1/v1"), "", {})


def test_an_address_that_is_none_is_refused_and_none_at_all_is_openai() -> None:
    for text in ("ftp://x", "localhost", "http://[x", "http://h:0"):
        with pytest.raises(UsageError, match="no http or https address"):
            typed_offer(text)
    assert typed_offer("").base_url == "https://api.openai.com/v1"
    assert typed_offer(" http://h:1/v1/ ").base_url == "http://h:1/v1"


def test_the_model_that_was_named_is_suggested_then_openais_default_then_the_first() -> None:
    openai = typed_offer("")
    assert preferred(openai, ("x", "gpt-5.4-mini")) == "gpt-5.4-mini"
    assert preferred(openai, ("x",)) == "x"
    assert preferred(typed_offer("http://h/v1"), ("a", "b")) == "a"
    assert preferred(Offer(label="l", adapter="openai", base_url="http://h", models=("named",)), ("a",)) == "named"
    assert preferred(typed_offer("http://h/v1"), ()) == ""


def test_what_is_written_is_a_config_without_faults_and_the_key_is_in_the_vault(tmp_path: Path) -> None:
    place = Layout(tmp_path / "home")
    environ = {"FERRULE_HOME": str(place.home)}
    choice = Choice(offer=typed_offer("http://h:1/v1"), model='odd "name"', key="canary-key-123", level="read_only")
    told = write_first_config(place, environ, choice)
    assert str(place.config) in told
    home = read_home(environ, agents=("default",))
    assert home.provider_of("default") == "openai.main"
    assert home.config.agent("default").risk_profile == "read_only"
    assert "canary-key-123" in home.config.secrets
    text = place.config.read_text()
    assert "canary" not in text
    assert tomllib.loads(text)["providers"]["openai"]["main"]["model"] == 'odd "name"'
    assert place.config.stat().st_mode & 0o077 == 0
    with pytest.raises(FerruleError, match="already"):
        write_first_config(place, environ, choice)
    assert place.config.read_text() == text


@pytest.mark.parametrize(
    ("choice", "table"),
    [
        (Choice(offer=DEMO), {"local": {"demo": {}}}),
        (
            Choice(offer=Offer(label="o", adapter="openai", base_url="http://h/v1", variable=KEY), model="m"),
            {"openai": {"main": {"model": "m", "base_url": "http://h/v1", "api_key": {"env": "OPENAI_API_KEY"}}}},
        ),
        (
            Choice(offer=Offer(label="o", adapter="ollama", base_url="http://127.0.0.1:11434"), model="m"),
            {"ollama": {"main": {"model": "m", "base_url": "http://127.0.0.1:11434"}}},
        ),
    ],
)
def test_each_way_to_a_model_is_written_as_its_own_table(choice: Choice, table: dict[str, object]) -> None:
    assert tomllib.loads(config_text(choice))["providers"] == table
