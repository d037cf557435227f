"""Who answers when nobody configured a provider; and what is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.app.discovery import find, names, settings_for, tool
from ferrule.app.first_provider import DEFAULT_MODEL, first_model, first_provider, remember_consent, was_agreed
from ferrule.config.layout import Layout
from ferrule.sandbox.dialer import HttpDialer
from ferrule.testing.mock_llm import MockLLM
from ferrule.types.errors import ConfigError, ProviderError


def test_a_key_wins_an_address_comes_next_and_nothing_is_the_demo_model() -> None:
    assert first_provider({}).adapter == "local"
    key = first_provider({"OPENAI_API_KEY": "k"})
    assert (key.source, key.settings["model"]) == ("OPENAI_API_KEY", DEFAULT_MODEL)
    address = first_provider({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"})
    assert (address.source, "model" in address.settings) == ("OPENAI_BASE_URL", False)
    named = first_provider({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_MODEL": "m"})
    assert named.settings["model"] == "m"


def test_the_explanation_shows_neither_user_nor_query_of_the_address() -> None:
    found = first_provider({"OPENAI_BASE_URL": "http://me:canary-1@host.test:81/v1?key=canary-2"})
    assert "http://host.test:81" in found.explanation
    assert "canary" not in found.explanation


async def test_the_first_model_of_an_address_is_taken() -> None:
    dialer = HttpDialer()
    async with MockLLM(models=["one", "two"]) as server:
        assert await first_model(first_provider({"OPENAI_BASE_URL": server.base_url}), dialer) == "one"
        queried = first_provider({"OPENAI_BASE_URL": f"{server.base_url}?key=canary", "OPENAI_API_KEY": "k"})
        assert await first_model(queried, dialer) == "one"
        assert server.requests[-1].path == "/v1/models?key=canary"
    async with MockLLM(models=[]) as server:
        with pytest.raises(ConfigError, match="no model") as caught:
            await first_model(first_provider({"OPENAI_BASE_URL": f"{server.base_url}?key=canary"}), dialer)
        assert "canary" not in str(caught.value)
        elsewhere = first_provider({"OPENAI_BASE_URL": f"{server.base_url}/none"})
        with pytest.raises(ProviderError, match="404"):
            await first_model(elsewhere, dialer)
    await dialer.close()


def test_consent_is_remembered_for_exactly_one_address(tmp_path: Path) -> None:
    place = Layout(tmp_path / "home")
    one, two = (first_provider({"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}) for port in (1, 2))
    assert not was_agreed(place, one)
    remember_consent(place, one)
    remember_consent(place, one)
    assert was_agreed(place, one)
    assert not was_agreed(place, two)
    assert (place.home / "state" / "agreed").stat().st_mode & 0o077 == 0


def test_parts_are_found_by_name_and_a_wrong_name_lists_the_right_ones() -> None:
    assert {"openai", "local"} <= set(names("providers"))
    assert find("providers", "openai").name == "openai"
    assert settings_for("providers", "openai") is not None
    assert settings_for("providers", "nothing") is None
    assert settings_for("tools", "file_read") is None
    assert tool("file_read").name == "file_read"
    for look in (lambda: find("providers", "nothing"), lambda: tool("nothing")):
        with pytest.raises(ConfigError, match="nothing") as caught:
            look()
        assert caught.value.hint
