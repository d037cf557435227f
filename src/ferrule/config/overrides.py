"""What the environment and flags put over the file.

``FERRULE_AGENTS__DEFAULT__PROVIDER`` is the key ``agents.default.provider``:
a double underscore separates the steps. A variable without one, such as
``FERRULE_HOME``, is no key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .document import Document, Origin
from .problems import Path, Problem
from .shape import Shape

PREFIX = "FERRULE_"
SEPARATOR = "__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """One key from outside the file; `text` is not yet a value."""

    path: Path
    text: str
    origin: Origin


def overrides(environ: Mapping[str, str], flags: Mapping[str, str]) -> list[Override]:
    """List the keys from outside, in rising order of precedence."""
    return [*_from_environment(environ), *_from_flags(flags)]


def apply(document: Document, found: list[Override], shape: Shape) -> list[Problem]:
    """Put them over the file; returns the ones that have no place."""
    problems: list[Problem] = []
    for override in found:
        value = read_value(override.text, override.path, shape)
        if not document.put(override.path, value, override.origin):
            key = ".".join(str(step) for step in override.path)
            cause = "a plain value stands where this needs a table"
            problems.append(Problem(where=override.origin.where, key=key, cause=cause))
    return problems


def read_value(text: str, path: Path, shape: Shape) -> object:
    """Turn text into a value: TOML where TOML can be read, else the text itself.

    A key that takes nothing but text gets text, so that ``12`` or ``true``
    may be somebody's instructions. A secret may be ``{ env = "NAME" }``.

    >>> read_value("[1, 2]", ("x",), Shape({}))
    [1, 2]
    >>> read_value("unlimited", ("x",), Shape({}))
    'unlimited'
    """
    if shape.is_secret(path) and not text.lstrip().startswith("{"):
        return text
    if shape.is_text_only(path) and not shape.is_secret(path) and text[:1] not in ('"', "'"):
        return text
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if len(parsed) == 1 else text


def _from_environment(environ: Mapping[str, str]) -> Iterator[Override]:
    for name in sorted(environ):
        if name.startswith(PREFIX) and SEPARATOR in name.removeprefix(PREFIX):
            steps = name.removeprefix(PREFIX).lower().split(SEPARATOR)
            yield Override(
                path=tuple(steps),
                text=environ[name],
                origin=Origin(source="environment", where=name),
            )


def _from_flags(flags: Mapping[str, str]) -> Iterator[Override]:
    for key, text in flags.items():
        yield Override(path=tuple(key.split(".")), text=text, origin=Origin(source="flag", where=f"--set {key}"))
