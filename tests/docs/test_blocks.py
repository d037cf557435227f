"""Documents are tests: Python blocks run, TOML blocks load, links lead somewhere, docstrings tell the truth."""

from __future__ import annotations

import doctest
import importlib
import tomllib
from pathlib import Path

import pytest

from tests.docs._blocks import Block, blocks, dead_links, fails
from tests.gates._tree import ROOT, SRC, clean, module_name, plant, python_files

TALKING = [module_name(SRC, path) for path in python_files(SRC) if ">>> " in path.read_text()]


def name_of(block: Block) -> str:
    """Name a block by its place."""
    return f"{block.path.relative_to(ROOT)}:{block.line}"


@pytest.mark.parametrize("block", blocks(ROOT, "python", "py"), ids=name_of)
def test_a_python_block_runs(block: Block, tmp_path: Path) -> None:
    assert fails(block, tmp_path) == ""


@pytest.mark.parametrize("block", blocks(ROOT, "toml"), ids=name_of)
def test_a_toml_block_is_toml(block: Block) -> None:
    assert tomllib.loads(block.body)


def test_links_lead_somewhere() -> None:
    clean(dead_links(ROOT))


@pytest.mark.parametrize("module", TALKING)
def test_the_examples_of_docstrings_are_true(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert (result.failed, result.attempted > 0) == (0, True)


def test_a_planted_block_that_fails_is_seen(tmp_path: Path) -> None:
    in_a_list = "1. in a list:\n\n   ```python\n   assert 1\n   ```\n"
    text = f"# A\n\n```python\nassert 1 + 1 == 3\n```\n\n{in_a_list}\n```toml\na = 1\n```\n"
    root = plant(tmp_path / "checkout", {"docs/a.md": text})
    bad, good = blocks(root, "python")
    assert (bad.line, good.line, good.body) == (3, 9, "assert 1\n")
    assert fails(bad, tmp_path).startswith("a.md:3 exits 1\n")
    assert fails(good, tmp_path) == ""


def test_a_warning_in_a_block_is_a_failure(tmp_path: Path) -> None:
    text = "```python\nimport warnings\nwarnings.warn('old', DeprecationWarning)\n```\n"
    (block,) = blocks(plant(tmp_path, {"README.md": text}), "python")
    assert "DeprecationWarning: old" in fails(block, tmp_path)


def test_a_planted_dead_link_is_seen(tmp_path: Path) -> None:
    text = "[here](a.md#part) [gone](gone.md) [out](https://example.org/x) ![image](no.png)\n"
    assert dead_links(plant(tmp_path, {"docs/a.md": text})) == ["docs/a.md: gone.md"]
