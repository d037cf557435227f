from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.config.problems import InvalidConfig
from ferrule.config.shape import Adapters, no_names, shape_of
from tests.config._adapters import ADAPTERS, read


def test_every_key_is_listed_with_a_star_for_names_that_the_operator_chooses() -> None:
    keys = shape_of(ADAPTERS, {"providers": ["acme", "stubborn", "absent"]}).every_key()
    assert [key for key in keys if key.startswith("providers")] == [
        "providers.acme.*.api_key",
        "providers.acme.*.base_url",
        "providers.acme.*.headers",
        "providers.acme.*.model",
        "providers.acme.*.retries",
    ]
    assert {"schema_version", "agents.*.workspace.access.*", "runtime_profiles.*.max_rounds"} <= set(keys)


def test_a_root_without_parts_holds_no_key() -> None:
    keys = shape_of(Adapters(), {}).every_key()
    assert no_names("providers") == ()
    assert not [key for key in keys if key.startswith("providers")]


def test_definitions_of_different_adapters_do_not_meet() -> None:
    schema = shape_of(ADAPTERS, {"providers": ["acme", "plain"]}).schema
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    assert {"providers.acme", "providers.acme/Header", "providers.plain", "Agent"} <= set(definitions)


@pytest.mark.parametrize(
    ("path", "secret", "text"),
    [
        (("providers", "acme", "main", "api_key"), True, True),
        (("providers", "acme", "main", "headers", 3, "token"), True, True),
        (("providers", "acme", "main", "headers", 3, "name"), False, True),
        (("providers", "acme", "main", "retries"), False, False),
        (("providers", "acme", "main", "gone"), False, False),
        (("agents", "x", "provider"), False, True),
        (("agents", "x", "tools"), False, False),
        (("agents", "x", "tools", 0), False, True),
        (("risk_profiles", "x", "level"), False, True),
        (("runtime_profiles", "x", "max_rounds"), False, False),
        (("schema_version", "x"), False, False),
        (("schema_version", 0), False, False),
    ],
)
def test_a_key_is_a_secret_or_text_by_its_schema(path: tuple[str | int, ...], secret: bool, text: bool) -> None:
    shape = shape_of(ADAPTERS, {"providers": ["acme"]})
    assert (shape.is_secret(path), shape.is_text_only(path)) == (secret, text)


def test_a_fault_inside_a_list_is_named_by_its_position(tmp_path: Path) -> None:
    headers = "headers = [\n  { name = 'n', token = 't' },\n  { name = 3, token = 't' },\n]\n"
    text = f"[providers.acme.main]\nmodel = 'm'\n{headers}"
    with pytest.raises(InvalidConfig) as raised:
        read(tmp_path, text)
    (fault,) = raised.value.problems
    assert (fault.line, fault.key, fault.cause) == (
        5,
        "providers.acme.main.headers[1].name",
        "should be a valid string",
    )
