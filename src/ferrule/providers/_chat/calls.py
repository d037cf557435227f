"""Tool calls, put together from the pieces in which servers send them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...types.tools import ToolCall
from .._json import clean, cleaned, dumps, exact, joined
from .encode import DIALECT

_OWN = frozenset({"id", "type", "function", "index", "name", "arguments"})

CUT = "the answer reached its length limit inside these arguments; nothing was run. Send smaller pieces."


@dataclass(slots=True, eq=False)
class _Slot:
    """A call that is still arriving."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    size: int = 0  # characters of the arguments
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def raw(self) -> str:
        if len(self.arguments) > 1:
            self.arguments[:] = ["".join(self.arguments)]
        return self.arguments[0] if self.arguments else ""

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are a whole object, behind which nothing may follow."""
        last = next((part for part in reversed(self.arguments) if part and not part.isspace()), "")
        return last.rstrip().endswith("}") and read_arguments(self.raw)[1] is None


class CallAssembler:
    """Sorts pieces of calls into calls.

    A piece belongs to the call of its `index`; without one to the call of its
    `id`; without both to the call that is arriving now. A server that reuses
    an index or an id for another whole call still gives two calls; one that
    sends a whole call again gives one.
    """

    __slots__ = ("_by_id", "_by_index", "_current", "_old", "_slots")

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._by_index: dict[int, _Slot] = {}
        self._by_id: dict[str, _Slot] = {}
        self._current: _Slot | None = None
        self._old = False

    def __bool__(self) -> bool:
        return bool(self._slots)

    def add(self, pieces: object) -> None:
        """Take the `tool_calls` list of one chunk; what is not a list of objects is passed over."""
        touched: list[_Slot] = []
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                self._add(piece, touched)

    def legacy(self, call: object) -> None:
        """Take a piece of the single call of the older dialect, unless the calls are sent in the newer one too."""
        if isinstance(call, dict) and (self._old or not self._slots):
            self._old = True
            self._add({"index": 0, "function": call}, [])

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
            raw = joined(slot.raw)
            arguments, fault = read_arguments(raw, cut=cut)
            calls.append(
                ToolCall(
                    id=clean(slot.id) or _free(f"{made_ids}_{number}", taken),
                    name=joined(slot.name),
                    arguments=arguments,
                    raw=raw,
                    fault=fault,
                    extra={clean(k): cleaned(v) for k, v in slot.extra.items()} or None,
                    dialect=dialect,
                )
            )
        return calls

    def _add(self, piece: Mapping[str, object], touched: list[_Slot]) -> None:
        index, call_id = _index(piece.get("index")), _text(piece.get("id"))
        slot = self._find(index, call_id, piece, touched)
        if slot is not None and _repeats(slot, piece, touched):
            return
        if slot is None or _begins_anew(slot, piece):
            slot = self._new()
        if index is not None:
            self._by_index[index] = slot
        if call_id:
            self._by_id[call_id] = slot
        self._current = slot
        touched.append(slot)
        self._merge(slot, piece)

    def _find(self, index: int | None, call_id: str, piece: Mapping[str, object], touched: list[_Slot]) -> _Slot | None:
        function, current = _function(piece), self._current
        name = _text(function.get("name"))
        if index is not None:
            slot = self._by_index.get(index)
            return None if slot is not None and _is_another(slot, call_id, name) else slot
        if call_id:
            slot = self._by_id.get(call_id)
            if slot is None and not name and function.get("arguments") and current not in touched:
                return current  # the id changed in the middle of a call
            if slot is not None and slot in touched and name and (not slot.size or slot.is_whole):
                return None  # one id for two calls of one chunk
            return slot
        another = name and current is not None and (current in touched or current.name not in ("", name))
        return None if another else current

    def _new(self) -> _Slot:
        slot = _Slot()
        self._slots.append(slot)
        return slot

    def _merge(self, slot: _Slot, piece: Mapping[str, object]) -> None:
        function = _function(piece)
        slot.id = slot.id or _text(piece.get("id"))
        slot.name = _name(slot, _text(function.get("name")))
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            slot.arguments.append(arguments)
            slot.size += len(arguments)
        elif arguments is not None:
            slot.arguments[:] = [dumps(arguments).decode()]
            slot.size = len(slot.arguments[0])
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
        value = exact(raw)
    except ValueError as error:
        return {}, CUT if cut else f"the arguments are not valid JSON ({error}); send one JSON object"
    if not isinstance(value, dict):
        return {}, f"the arguments are {_KINDS[type(value)]}; send one JSON object"
    return value, None


_KINDS: dict[type, str] = {
    list: "a list",
    str: "a string",
    bool: "a truth value",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def _is_another(slot: _Slot, call_id: str, name: str) -> bool:
    """Tell whether a piece under the index of a call begins another one; some servers change the id in between."""
    if not (call_id and name and slot.id) or call_id == slot.id:
        return False
    return name != slot.name or not slot.size or slot.is_whole


def _begins_anew(slot: _Slot, piece: Mapping[str, object]) -> bool:
    """Tell whether a piece is a whole call although its slot already holds one."""
    function = _function(piece)
    arguments = function.get("arguments")
    if arguments is None or not _text(function.get("name")):
        return False
    if isinstance(arguments, str) and not arguments.lstrip().startswith("{"):
        return False
    return slot.is_whole


def _repeats(slot: _Slot, piece: Mapping[str, object], touched: list[_Slot]) -> bool:
    """Tell whether a piece only says again what its call holds whole; a name twice in one chunk is two calls."""
    function = _function(piece)
    arguments = _text(function.get("arguments"))
    if len(arguments) != slot.size or (slot in touched and function.get("name")):
        return False
    return slot.is_whole and arguments == slot.raw


def _name(slot: _Slot, name: str) -> str:
    """Add a name, which servers send once, with each piece, longer each time, or cut in pieces."""
    if not name or not slot.name or slot.size or name.startswith(slot.name):
        return name or slot.name
    return slot.name + name


def _function(piece: Mapping[str, object]) -> Mapping[str, object]:
    """Return the part that names the function; some servers leave out the wrapper."""
    function = piece.get("function")
    return function if isinstance(function, dict) else piece


def _index(value: object) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) < 5:
        return int(value)
    return value if type(value) is int else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _free(wanted: str, taken: set[str]) -> str:
    while wanted in taken:
        wanted += "x"
    taken.add(wanted)
    return wanted
