"""No key of the config without a reader: what nothing reads is a promise that nothing keeps."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from pydantic import BaseModel

from ferrule.app.discovery import BUILT_IN, find
from ferrule.config.root import Root
from tests.docs.test_config_pages import tables
from tests.gates._tree import SRC, clean, plant, python_files, syntax

BOOKKEEPING = frozenset({"schema_version"})
"""Read from the raw document, before there is a model."""


def unread(package: Path, keys: set[str]) -> list[str]:
    """List keys that no expression of a package reads as an attribute."""
    read = {
        node.attr
        for path in python_files(package)
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    return sorted(keys - read)


def test_every_key_of_the_config_is_read() -> None:
    clean(unread(SRC, {key for key, _ in tables(Root)} - BOOKKEEPING))


@pytest.mark.parametrize("name", sorted(BUILT_IN["providers"]))
def test_every_key_of_a_provider_is_read_in_its_room(name: str) -> None:
    settings = find("providers", name).settings
    assert isinstance(settings, type)
    assert issubclass(settings, BaseModel)
    clean(unread(SRC / "providers", set(settings.model_fields)))


def test_a_planted_key_without_a_reader_is_seen(tmp_path: Path) -> None:
    package = plant(
        tmp_path, {"root.py": "class T:\n    used: int = 1\n    idle: int = 2\n", "a.py": "def f(t): return t.used\n"}
    )
    assert unread(package, {"used", "idle"}) == ["idle"]
