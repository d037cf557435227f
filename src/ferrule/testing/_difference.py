"""Names what differs between two JSON values, place by place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

MOST = 8
LONGEST = 120


def difference(recorded: object, found: object) -> str:
    """Return one line for each place that differs, "" when nothing does.

    >>> print(difference({"a": [1, 2]}, {"a": [1, 3], "b": None}))
      a[1]: recorded 2, now 3
      b: not recorded, now None
    """
    lines = list(_places(recorded, found, ""))
    more = [f"  and {len(lines) - MOST} more"] if len(lines) > MOST else []
    return "\n".join([*lines[:MOST], *more])


def _places(recorded: object, found: object, where: str) -> Iterator[str]:
    if isinstance(recorded, Mapping) and isinstance(found, Mapping):
        for key in dict.fromkeys([*recorded, *found]):
            place = f"{where}.{key}" if where else str(key)
            if key not in found:
                yield f"  {place}: recorded {_short(recorded[key])}, now missing"
            elif key not in recorded:
                yield f"  {place}: not recorded, now {_short(found[key])}"
            else:
                yield from _places(recorded[key], found[key], place)
    elif _is_list(recorded) and _is_list(found):
        for i, (one, other) in enumerate(zip(recorded, found, strict=False)):  # type: ignore[call-overload]  # both are lists
            yield from _places(one, other, f"{where}[{i}]")
        if len(recorded) != len(found):  # type: ignore[arg-type]  # both are lists
            yield f"  {where}: recorded {len(recorded)} entries, now {len(found)}"  # type: ignore[arg-type]  # both are lists
    elif recorded != found or type(recorded) is not type(found):
        yield f"  {where}: recorded {_short(recorded)}, now {_short(found)}"


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."
