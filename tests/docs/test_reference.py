"""The pages about events and errors name everything there is."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import get_args

from ci import golden
from ferrule.types import events
from tests.docs._blocks import unlisted
from tests.gates._tree import ROOT, clean, plant


def test_every_event_and_each_of_its_fields_is_listed() -> None:
    rows = {
        kind.type: [f.name for f in dataclasses.fields(kind) if f.name not in ("head", "seq", "at_ms")]
        for kind in get_args(events.AgentEvent)
    }
    clean(unlisted(ROOT / "docs" / "events.md", rows))


def test_every_error_and_its_code_is_listed() -> None:
    pairs = [line.split() for line in golden.error_codes().splitlines() if not line.startswith("FerruleError")]
    clean(unlisted(ROOT / "docs" / "errors.md", {code: [name] for name, code in pairs}))


def test_a_missing_row_or_word_is_seen(tmp_path: Path) -> None:
    page = plant(tmp_path, {"a.md": "| `one` | `x` |\n"}) / "a.md"
    assert unlisted(page, {"one": ["x", "y"], "two": []}) == ["a.md: two has no row", "a.md: the row of one lacks y"]
