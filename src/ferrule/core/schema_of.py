"""JSON Schema of a dataclass or a function, and the way back from a validated object.

Understood: str, int, float, bool, None, Any, Literal, unions, list, tuple,
dict[str, T], nested dataclasses, and ``Annotated`` with a description, `Range`
or `MaxLength`.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import orjson

from ..types.arguments import MaxLength, Range
from ..types.errors import UsageError

Convert = Callable[[Any], Any]
_SCALARS: dict[object, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def schema_of(arguments: type) -> bytes:
    """Return the JSON Schema of a dataclass as compact JSON.

    Raises:
        UsageError: a field has an annotation that has no form in JSON.
    """
    return orjson.dumps(_object_schema(arguments))


def converter_of(arguments: type) -> Convert:
    """Return what makes an instance of a dataclass from a validated object."""
    hints = typing.get_type_hints(arguments, include_extras=True)
    steps = {field.name: _converter(hints[field.name]) for field in dataclasses.fields(arguments)}
    needed = {name: step for name, step in steps.items() if step is not None}

    def convert(value: Mapping[str, Any]) -> object:
        if not needed:
            return arguments(**value)
        return arguments(**{k: needed[k](v) if k in needed else v for k, v in value.items()})

    return convert


def function_schema(function: Callable[..., Any]) -> bytes:
    """Return the JSON Schema of a function's parameters as compact JSON.

    Raises:
        UsageError: a parameter has no usable annotation, or can only be given by position.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    properties: dict[str, object] = {}
    required: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise UsageError(f"{function.__qualname__}: parameter {name!r} cannot be given by name")
        if name not in hints:
            raise UsageError(f"{function.__qualname__}: parameter {name!r} has no annotation", hint="write its type")
        properties[name] = _schema(hints[name], f"{function.__qualname__}.{name}")
        if parameter.default is parameter.empty:
            required.append(name)
    return orjson.dumps(_object(properties, required))


def _object_schema(cls: type) -> dict[str, object]:
    if not dataclasses.is_dataclass(cls):
        raise UsageError(f"{cls!r} is not a dataclass", hint="declare arguments as a frozen dataclass")
    hints = typing.get_type_hints(cls, include_extras=True)
    properties: dict[str, object] = {}
    required: list[str] = []
    for field in dataclasses.fields(cls):
        properties[field.name] = _schema(hints[field.name], f"{cls.__qualname__}.{field.name}")
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            required.append(field.name)
    return _object(properties, required)


def _object(properties: dict[str, object], required: list[str]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _schema(hint: Any, where: str) -> dict[str, object]:
    origin = get_origin(hint)
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if hint is Any or hint is object:
        return {}
    if origin is Annotated:
        return _annotated(hint, where)
    if origin is Literal:
        return {"enum": list(get_args(hint))}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(option, where) for option in get_args(hint)]}
    if dataclasses.is_dataclass(hint):
        return _object_schema(typing.cast(type, hint))
    return _container(hint, origin, where)


def _container(hint: Any, origin: Any, where: str) -> dict[str, object]:
    arguments = get_args(hint)
    if origin is list or (origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis):
        return {"type": "array", "items": _schema(arguments[0], where)}
    if origin is dict and arguments[0] is str:
        return {"type": "object", "additionalProperties": _schema(arguments[1], where)}
    raise UsageError(
        f"{where}: {hint!r} has no form in JSON", hint="use str, int, float, bool, list, dict or a dataclass"
    )


def _annotated(hint: Any, where: str) -> dict[str, object]:
    inner, *notes = get_args(hint)
    schema = _schema(inner, where)
    for note in notes:
        if isinstance(note, str):
            schema["description"] = note
        elif isinstance(note, Range):
            schema.update(minimum=note.minimum, maximum=note.maximum)
        elif isinstance(note, MaxLength):
            schema["maxItems" if schema.get("type") == "array" else "maxLength"] = note.length
    return schema


def _converter(hint: Any) -> Convert | None:
    """Return how a JSON value becomes the annotated type; None when it already is."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _converter(arguments[0])
    if dataclasses.is_dataclass(hint):
        return converter_of(typing.cast(type, hint))
    if origin in (Union, types.UnionType):
        options = [step for option in arguments if (step := _converter(option)) is not None]
        return _only(options[0]) if options else None
    if origin is tuple:
        step = _converter(arguments[0]) or _same
        return lambda value: tuple(step(item) for item in value)
    if origin is list and (inner := _converter(arguments[0])) is not None:
        return lambda value: [inner(item) for item in value]
    if origin is dict and (item_step := _converter(arguments[1])) is not None:
        return lambda value: {key: item_step(item) for key, item in value.items()}
    return None


def _only(step: Convert) -> Convert:
    """Convert arrays and objects of a union, leave scalars and None alone."""
    return lambda value: step(value) if isinstance(value, list | dict) else value


def _same(value: Any) -> Any:
    return value
