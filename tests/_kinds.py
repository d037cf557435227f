"""Which kind a test is of, and the count of each: unit, contract, property, gate, docs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

KINDS = ("docs", "gate", "property", "contract")


def kind_of(item: pytest.Item) -> str:
    """Name the kind of a test: by marker, by folder, by being a hypothesis test, by its contract suite."""
    for kind in KINDS:
        if item.get_closest_marker(kind):
            return kind
    folders = item.nodeid.split("/")
    if "gates" in folders:
        return "gate"
    if "docs" in folders:
        return "docs"
    if isinstance(item, pytest.Function):
        if hasattr(item.obj, "hypothesis"):
            return "property"
        if item.cls is not None and any(c.__name__.endswith("Contract") for c in item.cls.__mro__):
            return "contract"
    return "unit"


def mark(items: Iterable[pytest.Item]) -> None:
    """Give every test its kind as a property of its reports."""
    for item in items:
        item.user_properties.append(("kind", kind_of(item)))


Counted = pytest.Item | pytest.TestReport


def count(tests: Iterable[Counted]) -> Counter[str]:
    """Count tests by kind."""
    return Counter(str(value) for test in tests for name, value in test.user_properties if name == "kind")
