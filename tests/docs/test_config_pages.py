"""The pages about the config: every example loads, every key is explained, every part has its page."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from ferrule.app.discovery import BUILT_IN, find, settings_for, tool
from ferrule.config.load import load
from ferrule.config.root import Root
from tests.docs._blocks import Block, blocks, pages_missing, unlisted
from tests.gates._tree import ROOT, clean, plant

EXAMPLES = [block for block in blocks(ROOT, "toml") if block.info == "toml config"]


def tables(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield every key of a model and of the tables below it."""
    for name, field in model.model_fields.items():
        yield name, model
        for inner in models_in(field.annotation):
            yield from tables(inner)


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the models an annotation mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


def unexplained(page: Path, model: type[BaseModel]) -> list[str]:
    """List keys of a model that no table of a page explains."""
    rows = [line for line in page.read_text().splitlines() if line.startswith("| `")]
    return [f"{owner.__name__}.{key}" for key, owner in tables(model) if not any(f"`{key}`" in row for row in rows)]


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: f"{block.path.name}:{block.line}")
def test_an_example_of_a_config_loads(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(block.body)
    path.chmod(0o600)
    assert load(path, settings_for=settings_for, environ={"OPENAI_API_KEY": "x"}).root.agents


def test_every_key_of_the_config_is_explained() -> None:
    clean(unexplained(ROOT / "docs" / "config.md", Root))


@pytest.mark.parametrize("name", sorted(BUILT_IN["providers"]))
def test_every_key_of_a_provider_is_explained(name: str) -> None:
    settings = find("providers", name).settings
    assert isinstance(settings, type)
    assert issubclass(settings, BaseModel)
    clean(unexplained(ROOT / "docs" / "providers" / f"{name}.md", settings))


@pytest.mark.parametrize("name", sorted(BUILT_IN["tools"]))
def test_every_argument_of_a_tool_is_explained(name: str) -> None:
    declared = vars(type(tool(name)))["arguments"]
    rows: dict[str, list[str]] = {field.name: [] for field in dataclasses.fields(declared)}
    clean(unlisted(ROOT / "docs" / "tools" / f"{name}.md", rows))


def test_every_part_has_its_page_and_every_page_its_part() -> None:
    clean(pages_missing(ROOT / "docs", BUILT_IN))


def test_a_missing_page_and_an_orphan_are_seen(tmp_path: Path) -> None:
    docs = plant(tmp_path, {"tools/gone.md": "# Gone\n", "providers/a.md": "# A\n"})
    assert pages_missing(docs, {"tools": {"new": "x"}, "providers": {"a": "x"}, "memory": {}}) == [
        "tools/new.md: missing",
        "tools/gone.md: there is no such part",
    ]


def test_an_unexplained_key_is_seen(tmp_path: Path) -> None:
    class Inner(BaseModel):
        deep: int = 0

    class Table(BaseModel):
        known: int = 0
        unknown: tuple[Inner, ...] = ()

    page = plant(tmp_path, {"a.md": "`unknown` is mentioned in a sentence\n\n| `known` | explained |\n"}) / "a.md"
    assert unexplained(page, Table) == ["Table.unknown", "Inner.deep"]
