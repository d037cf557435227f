"""Random conversations as a session may hold them after years of crashes, and what goes out of them.

`conversation(seed)` makes one; `fault_in` sends it through the product
(recovery, history, request builder) and names what a strict API, or a person
who looks for their words, would complain about.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import orjson

from ferrule.core.conversation import Conversation
from ferrule.providers._chat.request import REASONING, RequestWriter
from ferrule.types.completion import Request
from ferrule.types.ids import IdKind
from ferrule.types.messages import Message, Status
from ferrule.types.parts import FilePart, ImagePart, Part, TextPart
from ferrule.types.tools import ToolCall

from . import _grammars

STATES: tuple[Status, ...] = ("completed",) * 8 + ("pending", "writing", "error", "aborted")
TEXTS = ("go on", "ok", "北京 🌧", "a\n\nb", '{"a": 1}', "half \ud83d", "x" * 200, "\x00\x1b[0m")
BLANK = ("", " ", "\n")
NAMES = ("look", "shell", "mcp__files__read-1", "a" * 64)
WORDS = ("bash run", "", "look\n", "x" * 70, "lesen_für", "functions.look")
"""What a model writes where a name should stand."""

VENDOR_IDS = ("", "call_0", "call_0", "call_1", "usr_1")
"""Ids as vendors give them: none, or one again and again."""

ARGUMENTS: tuple[dict[str, object], ...] = ({}, {"path": "a"}, {"n": 1.5, "deep": {"list": [None, "ü"]}})
ROUNDS = (0, 0, 0, 1, 2)
SYSTEM = Message(id="system", role="system", text="Be brief.", origin="operator")


class Held:
    """A session that holds what it is given."""

    id = "ses_1"

    def __init__(self, messages: Sequence[Message], interrupted: Sequence[ToolCall]) -> None:
        self.messages = messages
        self.interrupted = interrupted

    async def append(self, messages: Sequence[Message]) -> None:
        """Nothing is written."""

    async def intend(self, messages: Sequence[Message], calls: Sequence[ToolCall]) -> None:
        """Nothing is written."""

    async def close(self) -> None:
        """Nothing is open."""


class Maker:
    """Makes messages; what one history holds depends on its seed alone."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.made: list[Message] = []
        self._number = 0

    def pick(self, options: Sequence[Any]) -> Any:
        """Choose one."""
        return options[int(self.chance.random() * len(options))]

    def one_in(self, n: int) -> bool:
        """Say yes once in `n` times."""
        return self.chance.random() * n < 1

    def new_id(self, kind: str) -> str:
        """Return an id that was not used."""
        self._number += 1
        return f"{kind}_{self._number}"

    def new(self, kind: IdKind) -> str:
        """Return an id as the product makes one for a call."""
        return self.new_id(f"made_{kind}")

    def user(self) -> Message:
        """Add a person's message: words, or a picture alone, or both."""
        parts = self.parts() if self.one_in(8) else ()
        text = self.pick(BLANK if self.one_in(2 if parts else 40) else TEXTS)
        return self.add(Message(id=self.new_id("usr"), role="user", text=text, parts=parts))

    def parts(self) -> tuple[Part, ...]:
        """Make what stands beside a text."""
        image = ImagePart(media_type="image/png", data=b"png")
        linked = ImagePart(media_type="image/png", url="https://example.org/a.png")
        file = FilePart(name="a.pdf", media_type="application/pdf", data=b"pdf")
        some: tuple[tuple[Part, ...], ...] = ((image,), (linked, image), (file, TextPart(text="")))
        return some[int(self.chance.random() * len(some))]

    def assistant(self, *, calls: int, status: Status) -> Message:
        """Add a model's message; without calls it may be empty, or thought only."""
        made = tuple(self.call() for _ in range(calls))
        text = self.pick(BLANK if self.one_in(2 if calls else 12) else TEXTS)
        reasoning = self.pick(("", "let me think")) if self.one_in(5) else None
        return self.add(
            Message(
                id=self.new_id("ast"),
                role="assistant",
                text=text,
                calls=made,
                reasoning=reasoning,
                reasoning_field="reasoning_content" if reasoning is not None else "",
                status=status,
            )
        )

    def call(self) -> ToolCall:
        """Make a call; a fault leaves its arguments empty."""
        fault = "not a JSON object" if self.one_in(9) else None
        raw = "[1" if fault else ""
        arguments = {} if fault else self.pick(ARGUMENTS)
        name = self.pick(WORDS if self.one_in(25) else NAMES)
        return ToolCall(id=self.new_id("call"), name=name, arguments=arguments, raw=raw, fault=fault)

    def result(self, call_id: str, name: str) -> Message:
        """Add a call's result, which may be empty or a picture."""
        text = "" if self.one_in(6) else self.pick(TEXTS)
        parts = self.parts() if self.one_in(12) else ()
        return self.add(Message(id=self.new_id("res"), role="tool", text=text, parts=parts, call_id=call_id, name=name))

    def results(self, calls: Sequence[ToolCall]) -> None:
        """Add the results of a round: whole, or with one lost, repeated, late, or in another order."""
        order = list(calls)
        damage = self.chance.random()
        if damage < 0.1:
            self.chance.shuffle(order)
        elif damage < 0.25 and order:
            del order[int(self.chance.random() * len(order)) :]
        for call in order:
            self.result(call.id, call.name)
        if damage > 0.92 and order:
            self.result(order[0].id, order[0].name)
        if 0.88 < damage < 0.94:
            self.result("call_nobody", "look")

    def add(self, message: Message) -> Message:
        """Keep a message."""
        self.made.append(message)
        return message

    def turn(self) -> None:
        """Add one turn of the past; it may have broken off anywhere."""
        if not self.one_in(15):
            self.user()
        for _ in range(self.pick(ROUNDS)):
            message = self.assistant(calls=self.pick((1, 1, 2, 3)), status=self.pick(STATES))
            if not self.one_in(10):
                self.results(message.calls)
        if not self.one_in(4):
            self.assistant(calls=0, status=self.pick(STATES))
        if self.one_in(25):
            self.result("call_1", "look")


Limit = Callable[[list[Message], random.Random], list[Message]]


def suffix(messages: list[Message], chance: random.Random) -> list[Message]:
    """Keep the last messages: a cut may fall anywhere."""
    return messages[int(chance.random() * (len(messages) + 1)) :]


def conversation(seed: int) -> tuple[Conversation, Message]:
    """Make a past, cut it in half of the cases, restart, and begin a turn that may be some rounds old."""
    make = Maker(seed)
    for _ in range(int(make.chance.random() * 6)):
        make.turn()
    past = suffix(make.made, make.chance) if make.one_in(2) else make.made
    answered = {m.call_id for m in past if m.role == "tool"}
    open_calls = [c for m in past for c in m.calls if c.id not in answered]
    talk = Conversation(Held(past, open_calls if make.one_in(2) else ()), SYSTEM if make.one_in(2) else None)
    talk.recover(0)
    make.made = []
    current = make.user()
    for _ in range(make.pick(ROUNDS)):
        given = make.assistant(calls=make.pick((1, 2, 3)), status="completed")
        calls = tuple(talk.unique(replace(c, id=make.pick(VENDOR_IDS)), make) for c in given.calls)
        make.made[-1] = replace(given, calls=calls)
        for call in calls:
            make.result(call.id, call.name)
    for message in make.made:
        talk.add(message)
    return talk, current


WRITERS = {
    "openai": RequestWriter(model="m"),
    "openai without reasoning": RequestWriter(model="m", without={REASONING}),
}


def fault_in(talk: Conversation, current: Message) -> str:
    """Return what is wrong with what goes out, "" when nothing is."""
    sent = talk.outgoing()
    return next((f"{name}: {fault}" for name, fault in refusals(sent).items() if fault), "") or lost(
        talk, sent, current
    )


def refusals(sent: Sequence[Message]) -> dict[str, str]:
    """Return what each API would refuse."""
    faults = {}
    for name, writer in WRITERS.items():
        faults[name] = _grammars.openai(orjson.loads(writer.body(Request(id="req_1", messages=sent))))
    system, contents = grouped(sent)
    blocks = [{"role": role, "content": [_block(piece) for piece in pieces]} for role, pieces in contents]
    turns = [{"role": _MODEL[role], "parts": [_part(piece) for piece in pieces]} for role, pieces in contents]
    faults["anthropic"] = _grammars.anthropic({"messages": blocks} | ({"system": system} if system else {}))
    faults["gemini"] = _grammars.gemini({"contents": turns})
    return faults


def lost(talk: Conversation, sent: Sequence[Message], current: Message) -> str:
    """Return what a person would miss: their words, the order, or an answer that need not be left out."""
    stored = talk._messages
    place = {message.id: i for i, message in enumerate(stored)}
    kept = [place[m.id] for m in sent if m.id in place and m.code != "tool.unknown_outcome"]
    if current.id not in {message.id for message in sent}:
        return "lost: the current message"
    if kept != sorted(set(kept)):
        return "lost: the order"
    begun = False
    there = {message.id for message in sent}
    for i, message in enumerate(stored):
        begun = begun or message.role == "user"
        if message.id not in there and begun and (message.role == "user" or _is_worth_keeping(stored, i)):
            return f"lost: message {i}"
    return ""


def _is_worth_keeping(stored: Sequence[Message], i: int) -> bool:
    """Tell whether a finished answer, or a result right behind its call, stands where it may stand."""
    message = stored[i]
    if message.role == "assistant":
        return message.status == "completed" and bool(message.calls or message.text.strip())
    start = i - 1
    while start >= 0 and stored[start].role == "tool":
        start -= 1
    if start < 0 or stored[start].status != "completed" or all(m.role != "user" for m in stored[:start]):
        return False
    earlier = {m.call_id for m in stored[start + 1 : i]}
    return message.call_id in {call.id for call in stored[start].calls} - earlier


# -- the trivial mapping: what every adapter of these APIs does, and nothing more ------------------

Piece = ToolCall | Message | Part | str
_MODEL = {"user": "user", "assistant": "model"}


def grouped(messages: Sequence[Message]) -> tuple[str, list[tuple[str, list[Piece]]]]:
    """Take the system text out, put results on the user's side, and join equal neighbours."""
    system = "\n".join(m.text for m in messages if m.role == "system")
    out: list[tuple[str, list[Piece]]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if not out or out[-1][0] != role:
            out.append((role, []))
        pieces = out[-1][1]
        if message.role == "tool":
            pieces.append(message)
            continue
        if message.text.strip():
            pieces.append(message.text)
        pieces += [p for p in message.parts if p != TextPart(text="")]
        pieces += message.calls
    return system, out


def _block(piece: Piece) -> dict[str, object]:
    if isinstance(piece, str):
        return {"type": "text", "text": piece}
    if isinstance(piece, ToolCall):
        return {"type": "tool_use", "id": piece.id, "name": piece.name, "input": piece.arguments}
    if isinstance(piece, Message):
        return {"type": "tool_result", "tool_use_id": piece.call_id, "content": piece.text or "(no output)"}
    return {"type": "image"}


def _part(piece: Piece) -> dict[str, object]:
    if isinstance(piece, str):
        return {"text": piece}
    if isinstance(piece, ToolCall):
        return {"functionCall": {"name": piece.name, "args": piece.arguments}}
    if isinstance(piece, Message):
        return {"functionResponse": {"name": piece.name, "response": {"result": piece.text}}}
    return {"inlineData": {}}
