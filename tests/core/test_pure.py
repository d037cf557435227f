"""The pure parts: histories, secrets, schemas, tool sets, small values."""

from __future__ import annotations

import asyncio
import base64
import json
import urllib.parse
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.core.conversation import Conversation, undisturbed
from ferrule.core.guard import NoSecrets, SecretGuard, encodings
from ferrule.core.history import valid_history
from ferrule.core.hooks import HookTable
from ferrule.core.memory_session import MemorySession
from ferrule.core.provider_shapes import WholeAnswers, fold
from ferrule.core.schema_check import JsonSchemaCompiler
from ferrule.core.schema_of import converter_of, function_schema, schema_of
from ferrule.core.system_clock import RandomIds, SystemClock
from ferrule.core.tool_decorator import tool
from ferrule.core.toolset import BoundTool, Toolbox
from ferrule.testing.scripted import ask, call, say, think
from ferrule.types.arguments import MaxLength, Range
from ferrule.types.completion import ProviderEvent
from ferrule.types.errors import HookTypeError, StreamBroken, UsageError
from ferrule.types.messages import Message, Role, Status
from ferrule.types.tools import ToolCall
from ferrule.types.usage import Usage

# -- histories -------------------------------------------------------------


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    out: list[Message] = []
    for i in range(draw(st.integers(0, 12))):
        role: Role = draw(st.sampled_from(["user", "assistant", "tool", "system"]))
        ids = draw(st.lists(st.sampled_from("abcd"), max_size=3, unique=True)) if role == "assistant" else []
        calls = tuple(ToolCall(id=f"{i}{c}", name="t", arguments={}) for c in ids)
        wanted = [c.id for m in out for c in m.calls] or ["none"]
        status: Status = draw(st.sampled_from(["completed", "completed", "error", "aborted"]))
        out.append(
            Message(
                id=str(i),
                role=role,
                text=draw(st.sampled_from(["", "x"])),
                calls=calls,
                call_id=draw(st.sampled_from(wanted)) if role == "tool" else "",
                status=status if role == "assistant" else "completed",
            )
        )
    return out


def broken_rules(messages: list[Message]) -> list[str]:
    """Judge a list by the rules of strict vendors, written independently of the code."""
    faults: list[str] = []
    open_calls: list[str] = []
    answered: set[str] = set()
    talk = [m for m in messages if m.role != "system"]
    if talk and talk[0].role != "user":
        faults.append("does not begin with a user")
    if messages and messages[-1].role == "assistant":
        faults.append("ends with the assistant")
    for message in messages:
        if message.role == "tool":
            if message.call_id not in open_calls:
                faults.append(f"orphan {message.call_id}")
            else:
                open_calls.remove(message.call_id)
            if message.call_id in answered:
                faults.append("answered twice")
            answered.add(message.call_id)
        else:
            if open_calls:
                faults.append(f"unanswered {open_calls}")
            open_calls = [c.id for c in message.calls]
        if message.status != "completed":
            faults.append("an unfinished message")
    return faults + [f"unanswered {open_calls}" for _ in open_calls[:1]]


@pytest.mark.property
@given(histories())
def test_what_is_sent_is_valid_for_strict_vendors_and_loses_no_users_words(history: list[Message]) -> None:
    sent = valid_history(history)
    assert broken_rules(sent) == []
    assert [m for m in sent if m.role in ("user", "system")] == [m for m in history if m.role in ("user", "system")]


def test_a_valid_history_is_sent_as_it_is() -> None:
    calls = (ToolCall(id="a", name="t", arguments={}),)
    history = [
        Message(id="1", role="user", text="x"),
        Message(id="2", role="assistant", calls=calls),
        Message(id="3", role="tool", call_id="a", text="r"),
    ]
    assert valid_history(history) == history
    assert valid_history([history[0], Message(id="9", role="assistant", text="said")]) == history[:1]


# -- secrets ---------------------------------------------------------------

SECRETS = ("hunter2hunter2", "k/ey+with=signs", 'quote"and\\slash', "hunter2", "ünï-cödé-käy", "abcabcabc")


def forms(secret: str) -> list[str]:
    raw = secret.encode()
    return [
        secret,
        urllib.parse.quote(secret, safe=""),
        json.dumps(secret)[1:-1],
        raw.hex(),
        base64.b64encode(raw).decode()[: len(raw) * 8 // 6],
        base64.b64encode(b"x" + raw).decode()[2 : (1 + len(raw)) * 8 // 6],
    ]


@pytest.mark.property
@given(st.sampled_from(SECRETS), st.integers(0, 5), st.text("ab h/", max_size=6), st.data())
def test_no_split_of_a_stream_leaks_a_secret_in_any_form(
    secret: str, form: int, around: str, data: st.DataObject
) -> None:
    text = around + forms(secret)[form] + around
    stream, out, at = SecretGuard(SECRETS).stream(), "", 0
    while at < len(text):
        size = data.draw(st.integers(1, 7))
        out += stream.feed(text[at : at + size])
        at += size
    out += stream.flush()
    assert forms(secret)[form] not in out
    assert "[secret]" in out


@pytest.mark.property
@given(st.text("abchunter2 k/", max_size=30), st.integers(1, 5))
def test_text_without_a_secret_passes_whole(text: str, size: int) -> None:
    guard = SecretGuard(["hunter2hunter2", "k/ey+with=signs"])
    stream = guard.stream()
    out = "".join(stream.feed(text[i : i + size]) for i in range(0, len(text), size)) + stream.flush()
    assert out == guard.clean(text)
    if "hunter2hunter2" not in text:
        assert out == text


def test_ordinary_text_is_not_delayed_and_only_a_real_beginning_is_held() -> None:
    stream = SecretGuard(["hunter2hunter2"]).stream()
    assert stream.feed("a plain sentence, ") == "a plain sentence, "
    assert stream.feed("go hunt") == "go "
    assert stream.feed("ing") == "hunting"
    assert stream.feed("the end is h") == "the end is "
    assert stream.flush() == "h"


def test_short_values_are_no_secrets_and_no_secrets_hold_nothing_back() -> None:
    assert SecretGuard(["abc", ""]).clean("abc") == "abc"
    assert SecretGuard([]).stream().feed("abc") == "abc"
    assert NoSecrets().clean("x") == NoSecrets().stream().feed("x") == "x"
    assert NoSecrets().stream().flush() == ""
    assert all(len(form) >= 6 for form in encodings("secret"))


# -- schemas ---------------------------------------------------------------


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
            "inner": st.fixed_dictionaries({"x": st.integers()}),
            "many": st.lists(st.fixed_dictionaries({"x": st.integers()}), max_size=2),
        },
        optional={
            "maybe": st.none() | st.fixed_dictionaries({"x": st.integers()}),
            "inners": st.lists(st.fixed_dictionaries({"x": st.integers()}), max_size=2),
            "named": st.dictionaries(st.text(max_size=2), st.fixed_dictionaries({"x": st.integers()}), max_size=2),
            "numbers": st.lists(st.integers(), max_size=2),
            "either": st.integers() | st.text(max_size=2),
        },
    )
)
def test_what_fits_the_schema_becomes_an_instance_with_the_same_values(value: dict[str, Any]) -> None:
    check = JsonSchemaCompiler().compile(schema_of(Everything))
    if any(isinstance(v, int) and abs(v) > 2**53 for v in value.values()):
        return
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


# -- tool sets -------------------------------------------------------------


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


# -- small things ----------------------------------------------------------


async def test_a_whole_answer_is_the_same_as_its_events() -> None:
    usage = Usage(input=1)
    for events in (say("ab", pieces=2, usage=usage), ask(call("t", {"a": 1}), text="x"), think("hm", "yes")):

        async def stream(events: list[ProviderEvent] = events) -> AsyncIterator[ProviderEvent]:
            for event in events:
                yield event

        completion = await fold(stream())

        class Whole:
            name = "w"

            async def complete(self, request: object, completion: Any = completion) -> Any:
                return completion

        assert await fold(WholeAnswers(Whole()).stream(None)) == completion  # type: ignore[arg-type]  # nothing is asked

    async def cut() -> AsyncIterator[ProviderEvent]:
        for event in say("x")[:-1]:
            yield event

    with pytest.raises(StreamBroken):
        await fold(cut())


async def test_ids_sort_by_time_and_never_repeat_and_the_clock_goes_on() -> None:
    ids, clock = RandomIds(), SystemClock()
    made = [ids.new("msg") for _ in range(2000)]
    assert made == sorted(made)
    assert len(set(made)) == 2000
    before = clock.monotonic()
    await clock.sleep(0)
    assert clock.monotonic() >= before
    assert clock.now_ms() > 1_600_000_000_000


async def test_a_session_in_memory_keeps_what_it_is_told() -> None:
    session = MemorySession("s", [Message(id="0", role="user")])
    await session.intend([Message(id="1", role="user")], [])
    await session.close()
    assert [m.id for m in session.messages] == ["0", "1"]
    assert session.interrupted == ()


def test_an_object_without_hooks_is_surely_a_mistake() -> None:
    with pytest.raises(HookTypeError, match="no hook method"):
        HookTable().add(object())


async def test_what_must_not_stop_half_way_ends_before_a_cancellation_is_passed_on() -> None:
    done: list[str] = []
    entered = asyncio.Event()

    async def work() -> None:
        entered.set()
        await asyncio.sleep(0.02)
        done.append("whole")

    task = asyncio.ensure_future(undisturbed(work()))
    await entered.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == ["whole"]

    async def cancels_itself() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await undisturbed(cancels_itself())

    async def fails() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await undisturbed(fails())


async def test_a_failed_intent_leaves_what_waits_waiting() -> None:
    class Failing(MemorySession):
        async def intend(self, messages: object, calls: object) -> None:
            raise KeyError("disk")

    conversation = Conversation(Failing("s"), None)
    conversation.add(Message(id="1", role="user", text="x"))
    with pytest.raises(KeyError):
        await conversation.intend(ToolCall(id="c", name="n", arguments={}))
    await conversation.commit()
    assert [m.id for m in conversation.session.messages] == ["1"]
