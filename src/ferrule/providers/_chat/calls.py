"""Tool calls, put together from the pieces in which servers send them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from ...types.tools import ToolCall
from .._json import dumps, loads
from .encode import DIALECT

_OWN = frozenset({"id", "type", "function", "index", "name", "arguments"})
_DEEP = 200
"""Nesting from which it is tried whether the arguments can be encoded again; the encoder's limit is 254."""

CUT = "the answer reached its length limit inside these arguments; nothing was run. Send smaller pieces."


@dataclass(slots=True, eq=False)
class _Slot:
    """A call that is still arriving."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def raw(self) -> str:
        return "".join(self.arguments)


class CallAssembler:
    """Sorts pieces of calls into calls.

    A piece belongs to the call of its `index`; without one to the call of its
    `id`; without both to the call that is arriving now. A server that reuses
    an index or an id for another whole call still gives two calls; one that
    sends a whole call again gives one.
    """

    __slots__ = ("_by_id", "_by_index", "_current", "_slots")

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._by_index: dict[int, _Slot] = {}
        self._by_id: dict[str, _Slot] = {}
        self._current: _Slot | None = None

    def __bool__(self) -> bool:
        return bool(self._slots)

    def add(self, pieces: object) -> None:
        """Take the `tool_calls` list of one chunk; what is not a list of objects is passed over."""
        touched: list[_Slot] = []
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                self._add(piece, touched)

    def whole(self, calls: object) -> None:
        """Take the `tool_calls` list of a whole answer, in which each entry is a call of its own."""
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                self._merge(self._new(), call)

    def finish(self, *, made_ids: str, cut: bool, dialect: str = DIALECT) -> list[ToolCall]:
        """Return the calls in the order in which they began.

        Args:
            made_ids: Beginning of the ids that are made for calls without one.
            cut: Whether the answer was ended by a limit, so that the last arguments may be incomplete.
            dialect: Who may be sent the calls' unknown fields.
        """
        taken = {slot.id for slot in self._slots}
        calls: list[ToolCall] = []
        for number, slot in enumerate(self._slots):
            own_id = slot.id or _free(f"{made_ids}_{number}", taken)
            arguments, fault = read_arguments(slot.raw, cut=cut)
            calls.append(
                ToolCall(
                    id=own_id,
                    name=slot.name,
                    arguments=arguments,
                    raw=slot.raw,
                    fault=fault,
                    extra=slot.extra or None,
                    dialect=dialect,
                )
            )
        return calls

    def _add(self, piece: Mapping[str, object], touched: list[_Slot]) -> None:
        index, call_id = _index(piece.get("index")), _text(piece.get("id"))
        slot = self._find(index, call_id, piece, touched)
        if slot is not None and _begins_anew(slot, piece):
            if slot not in touched and _text(_function(piece).get("arguments")) == slot.raw:
                return  # the same call, sent whole once more
            slot = None
        if slot is None:
            slot = self._new()
        if index is not None:
            self._by_index[index] = slot
        if call_id:
            self._by_id[call_id] = slot
        self._current = slot
        touched.append(slot)
        self._merge(slot, piece)

    def _find(self, index: int | None, call_id: str, piece: Mapping[str, object], touched: list[_Slot]) -> _Slot | None:
        if index is not None:
            slot = self._by_index.get(index)
            another = slot is not None and call_id and slot.id and slot.id != call_id
            return None if another else slot
        if call_id:
            slot = self._by_id.get(call_id)
            return None if slot is not None and slot in touched else slot
        name, current = _text(_function(piece).get("name")), self._current
        another = name and current is not None and (current in touched or current.name not in ("", name))
        return None if another else current

    def _new(self) -> _Slot:
        slot = _Slot()
        self._slots.append(slot)
        return slot

    def _merge(self, slot: _Slot, piece: Mapping[str, object]) -> None:
        function = _function(piece)
        slot.id = slot.id or _text(piece.get("id"))
        slot.name = _text(function.get("name")) or slot.name  # sent again, not in pieces
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            slot.arguments.append(arguments)
        elif arguments is not None:
            slot.arguments[:] = [dumps(arguments).decode()]
        for name, value in piece.items():
            if name not in _OWN and value is not None:
                slot.extra[name] = value


def read_arguments(raw: str, *, cut: bool = False) -> tuple[dict[str, object], str | None]:
    """Decode the arguments of a call.

    Returns:
        The object and None; or an empty object and why the text could not be read, said to the model.

    >>> read_arguments('{"path": "a.txt"}')
    ({'path': 'a.txt'}, None)
    >>> read_arguments("[1]")
    ({}, 'the arguments are a list; send one JSON object')
    """
    if not raw.strip():
        return {}, CUT if cut else None
    try:
        value = loads(raw)
    except ValueError as error:
        return {}, CUT if cut else f"the arguments are not valid JSON ({error}); send one JSON object"
    if not isinstance(value, dict):
        return {}, f"the arguments are {_KINDS[type(value)]}; send one JSON object"
    if raw.count("{") + raw.count("[") > _DEEP and not _encodable(value):
        return {}, "the arguments are nested too deeply; send a flatter object"
    return value, None


_KINDS: dict[type, str] = {
    list: "a list",
    str: "a string",
    bool: "a truth value",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def _encodable(value: object) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True


def _begins_anew(slot: _Slot, piece: Mapping[str, object]) -> bool:
    """Tell whether a piece is a whole call although its slot already holds one."""
    function = _function(piece)
    if not _text(function.get("name")) or not slot.raw.rstrip().endswith("}"):
        return False
    arguments = function.get("arguments")
    if isinstance(arguments, str) and not arguments.lstrip().startswith("{"):
        return False
    return arguments is not None and read_arguments(slot.raw)[1] is None


def _function(piece: Mapping[str, object]) -> Mapping[str, object]:
    """Return the part that names the function; some servers leave out the wrapper."""
    function = piece.get("function")
    return function if isinstance(function, dict) else piece


def _index(value: object) -> int | None:
    return value if type(value) is int else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _free(wanted: str, taken: set[str]) -> str:
    while wanted in taken:
        wanted += "x"
    taken.add(wanted)
    return wanted
