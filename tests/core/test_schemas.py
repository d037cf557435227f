"""Schemas and tool sets."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.core.schema_check import JsonSchemaCompiler
from ferrule.core.schema_of import converter_of, function_schema, schema_of
from ferrule.core.tool_decorator import FunctionTool, tool
from ferrule.core.toolset import BoundTool, Toolbox
from ferrule.types.arguments import MaxLength, Range
from ferrule.types.errors import UsageError

NUMBERS = st.integers(-(2**53), 2**53)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    x: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything:
    name: Annotated[str, "A name.", MaxLength(5)]
    size: Annotated[int, Range(1, 9)]
    kind: Literal["a", "b"]
    inner: Inner
    many: tuple[Inner, ...]
    ratio: float = 0.5
    on: bool = False
    maybe: Inner | None = None
    either: int | str = 0
    words: Annotated[list[str], MaxLength(3)] = ()  # type: ignore[assignment]  # a default that is never changed
    inners: list[Inner] = ()  # type: ignore[assignment]  # a default that is never changed
    named: dict[str, Inner] = None  # type: ignore[assignment]  # a default that is never changed
    plain: dict[str, int] = None  # type: ignore[assignment]  # a default that is never changed
    numbers: tuple[int, ...] = ()
    anything: Any = None
    noted: Annotated[int, object()] = 0


def test_a_dataclass_is_a_closed_object_with_bounds_and_descriptions() -> None:
    schema = json.loads(schema_of(Everything))
    assert schema["required"] == ["name", "size", "kind", "inner", "many"]
    assert schema["additionalProperties"] is False
    properties = schema["properties"]
    assert properties["name"] == {"type": "string", "description": "A name.", "maxLength": 5}
    assert properties["size"] == {"type": "integer", "minimum": 1, "maximum": 9}
    assert properties["kind"] == {"enum": ["a", "b"]}
    assert properties["words"] == {"type": "array", "items": {"type": "string"}, "maxItems": 3}
    assert properties["maybe"]["anyOf"][1] == {"type": "null"}
    assert properties["anything"] == {}


@pytest.mark.property
@given(
    st.fixed_dictionaries(
        {
            "name": st.text(max_size=5),
            "size": st.integers(1, 9),
            "kind": st.sampled_from(["a", "b"]),
            "inner": st.fixed_dictionaries({"x": NUMBERS}),
            "many": st.lists(st.fixed_dictionaries({"x": NUMBERS}), max_size=2),
        },
        optional={
            "maybe": st.none() | st.fixed_dictionaries({"x": NUMBERS}),
            "inners": st.lists(st.fixed_dictionaries({"x": NUMBERS}), max_size=2),
            "named": st.dictionaries(st.text(max_size=2), st.fixed_dictionaries({"x": NUMBERS}), max_size=2),
            "numbers": st.lists(NUMBERS, max_size=2),
            "either": NUMBERS | st.text(max_size=2),
        },
    )
)
def test_what_fits_the_schema_becomes_an_instance_with_the_same_values(value: dict[str, Any]) -> None:
    check = JsonSchemaCompiler().compile(schema_of(Everything))
    assert check.faults(value) == []
    made = converter_of(Everything)(value)
    assert isinstance(made.inner, Inner)
    assert made.inner.x == value["inner"]["x"]
    assert [inner.x for inner in made.many] == [inner["x"] for inner in value["many"]]
    assert isinstance(made.many, tuple)
    if value.get("maybe"):
        assert made.maybe == Inner(x=value["maybe"]["x"])
    if "named" in value:
        assert made.named == {k: Inner(x=v["x"]) for k, v in value["named"].items()}
    if "inners" in value:
        assert made.inners == [Inner(x=v["x"]) for v in value["inners"]]


def test_what_has_no_form_in_json_is_refused_by_name() -> None:
    def untyped(a) -> None:  # type: ignore[no-untyped-def]  # the fault under test
        """Have no annotation."""

    def positional(*a: int) -> None:
        """Take any number."""

    def strange(a: set[int]) -> None:
        """Take a set."""

    for function, words in ((untyped, "no annotation"), (positional, "by name"), (strange, "no form")):
        with pytest.raises(UsageError, match=words):
            function_schema(function)
    with pytest.raises(UsageError, match="dataclass"):
        schema_of(int)


def test_faults_are_bounded_and_strange_numbers_are_named() -> None:
    compiler = JsonSchemaCompiler()
    check = compiler.compile(b'{"type":"array","items":{"type":"string"}}')
    assert len(check.faults(list(range(50)))) == 8
    assert check.faults([float("inf")]) == ["arguments.0: inf is not a JSON number"]
    with pytest.raises(UsageError, match="not valid"):
        compiler.compile(b"{")
    with pytest.raises(UsageError, match="not valid"):
        compiler.compile(b'{"type":"nothing"}')


class Seed:
    """A tool of the smallest shape."""

    def __init__(self, name: str = "seed", **more: object) -> None:
        self.name = name
        for key, value in more.items():
            setattr(self, key, value)

    async def execute(self, arguments: object, context: object) -> str:
        """Do nothing."""
        return ""


class Source:
    """Offers tools, with a revision or without."""

    def __init__(self, *tools: object, **more: object) -> None:
        self.tools = tools
        self.asked = 0
        for key, value in more.items():
            setattr(self, key, value)

    def additional_tools(self) -> tuple[Any, ...]:
        self.asked += 1
        return self.tools


def box(*offered: Any) -> Toolbox:
    return Toolbox(offered, JsonSchemaCompiler())


def test_schema_and_description_come_from_wherever_a_tool_has_them() -> None:
    def bound(**more: object) -> BoundTool:
        return BoundTool(Seed("seed", **more), JsonSchemaCompiler())

    schema: Mapping[str, object] = {"type": "object"}
    assert bound(input_schema=schema).spec.schema == b'{"type":"object"}'
    assert bound(input_schema=lambda: b"{}").spec.schema == b"{}"
    assert bound(arguments=Inner, input_schema=b"{}").spec.schema == b"{}"
    assert bound(arguments=Inner).convert({"x": 1}) == Inner(x=1)
    assert bound(input_schema=schema).convert({"a": 1}) == {"a": 1}
    assert bound().spec.description == "A tool of the smallest shape."
    assert bound(description="own").spec.description == "own"
    assert bound(description=lambda: "made").spec.description == "made"
    assert bound().previewing is None


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "ä"])
def test_a_name_that_vendors_refuse_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="tool name"):
        box(Seed(name))


def test_faults_of_a_tool_set_name_their_fix() -> None:
    with pytest.raises(UsageError, match="two tools"):
        box(Seed(), Seed())
    with pytest.raises(UsageError, match="neither a tool"):
        box(object())
    with pytest.raises(UsageError, match=r"files\.eat"):
        box(Seed(needs={"files.eat"}))


def test_a_source_with_a_revision_is_asked_when_it_changes_and_one_without_each_round() -> None:
    steady, always = Source(Seed("a"), revision=1), Source(Seed("b"))
    tools = box(Seed("fixed"), steady, always)
    first = tools.refresh()
    assert [spec.name for spec in first.specs] == ["fixed", "a", "b"]
    assert tools.refresh() is first
    assert (steady.asked, always.asked) == (1, 2)
    steady.revision = 2  # type: ignore[attr-defined]  # set by the constructor
    steady.tools = (Seed("c"), *steady.tools)
    second = tools.refresh()
    assert [spec.name for spec in second.specs] == ["fixed", "c", "a", "b"]
    assert second.tools["a"] is first.tools["a"]


def test_a_source_cannot_replace_a_fixed_tool() -> None:
    fixed = Seed("same")
    tools = box(fixed, Source(Seed("same")))
    assert tools.refresh().tools["same"].tool is fixed
    plain = box(fixed)
    assert plain.refresh() is plain.refresh()


def test_a_function_keeps_being_a_function_and_may_be_renamed() -> None:
    @tool(name="plus", needs={"custom"})
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    assert add(2) == 3
    assert (add.name, add.description, add.needs) == ("plus", "Add.", frozenset({"custom"}))
    assert json.loads(add.input_schema)["required"] == ["a"]


def test_agents_with_the_same_tools_share_one_set_until_a_tool_says_something_else() -> None:
    def clock() -> str:
        """Tell the time."""
        return "12:00"

    compiler, told, other = JsonSchemaCompiler(), FunctionTool(clock, name="a", needs=frozenset()), Seed("other")
    first = Toolbox([told, other], compiler).refresh()
    assert Toolbox([told, other], compiler).refresh() is first
    assert Toolbox([other, told], compiler).refresh() is not first
    told.description = "changed"
    second = Toolbox([told, other], compiler).refresh()
    assert second is not first
    assert second.specs[0].description == "changed"
    assert first.specs[0].description == "Tell the time."


def test_checking_a_schema_fetches_nothing_and_reads_no_file(tmp_path: Path) -> None:
    form = tmp_path / "form.json"
    form.write_text('{"type": "integer"}')
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        for address in (f"http://127.0.0.1:{server.getsockname()[1]}/form", form.as_uri()):
            with pytest.raises(UsageError, match="schema is not valid"):
                JsonSchemaCompiler().compile(orjson.dumps({"$ref": address}))
        with pytest.raises(BlockingIOError):
            server.accept()
