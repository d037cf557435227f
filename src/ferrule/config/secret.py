"""Secrets in the config: references to the environment, and the mask that is shown instead.

A secret is a table ``{ env = "NAME" }`` or text. Text is taken as it stands,
except that ``${`` is refused - people expect an expansion there - unless it
is written ``$${``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .problems import Path
from .shape import Shape

MASK = "***"

_LOOKS_SECRET = ("api_key", "token", "secret", "password", "credential", "authorization")


@dataclass(slots=True)
class Revealed:
    """A table with its secrets in plain text.

    Attributes:
        table: What the adapter's settings are made from.
        values: Every secret in it, for the guard.
        faults: Path below the table, cause, hint.
        literal: Whether a secret stands in the config itself.
    """

    table: object
    values: list[str] = field(default_factory=list)
    faults: list[tuple[Path, str, str]] = field(default_factory=list)
    unset: list[tuple[Path, str, str]] = field(default_factory=list)
    literal: list[Path] = field(default_factory=list)


def reveal(table: object, *, path: Path, shape: Shape, environ: Mapping[str, str]) -> Revealed:
    """Replace the references below `path` by what they refer to.

    A variable that is unset or empty is an entry of `unset`, and its place is
    held by the mask so that the rest of the table can still be checked.
    """
    result = Revealed(table=None)
    result.table = _walk(table, path, shape, lambda value, at: _secret(value, at, environ, result))
    _refuse_expansions(table, path, shape, result)
    return result


def masked(value: object, *, path: Path, shape: Shape) -> object:
    """Return `value` as it may be shown: secrets replaced, references and structure kept."""
    return _walk(value, path, shape, lambda found, _: found if _is_reference(found) else MASK)


def _walk(value: object, path: Path, shape: Shape, leaf: Callable[[object, Path], object]) -> object:
    if _secret_at(path, shape):
        return leaf(value, path)
    if isinstance(value, Mapping):
        return {name: _walk(inner, (*path, name), shape, leaf) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(inner, (*path, number), shape, leaf) for number, inner in enumerate(value)]
    return value


def _secret_at(path: Path, shape: Shape) -> bool:
    """A key that no schema knows (a typing slip, an absent adapter) is judged by its name."""
    if shape.nodes(path):
        return shape.is_secret(path)
    name = next((step for step in reversed(path) if isinstance(step, str)), "")
    return any(word in name for word in _LOOKS_SECRET)


def _is_reference(value: object) -> bool:
    return isinstance(value, Mapping) and set(value) == {"env"} and isinstance(value["env"], str)


def _secret(value: object, path: Path, environ: Mapping[str, str], result: Revealed) -> object:
    if isinstance(value, Mapping):
        if not _is_reference(value):
            result.faults.append((path, "not a secret", 'write { env = "NAME" } or text'))
            return MASK
        return _from_environment(str(value["env"]), path, environ, result)
    if not isinstance(value, str):
        return value
    fault = _refusal(value)
    if fault is not None:
        result.faults.append((path, *fault))
        return MASK
    plain = value.replace("$${", "${")
    if plain:
        result.values.append(plain)
        result.literal.append(path)
    return plain


def _from_environment(name: str, path: Path, environ: Mapping[str, str], result: Revealed) -> str:
    found = environ.get(name, "")
    if not found:
        state = "empty" if name in environ else "not set"
        result.unset.append((path, f"the environment variable {name} is {state}", f"export {name}=..."))
        return MASK
    result.values.append(found)
    return found


def _refusal(text: str) -> tuple[str, str] | None:
    if text == MASK:
        return "the value is the mask that is shown instead of a secret", "write the secret itself"
    if text.startswith("enc2:"):
        return "an encrypted value needs the vault, not in this version", 'write { env = "NAME" }'
    unescaped = text.replace("$${", "")
    if "${" in unescaped:
        name = unescaped.partition("${")[2].partition("}")[0] or "NAME"
        return "variables inside text are not expanded", f'write {{ env = "{name}" }}, or "$${{" for the characters'
    return None


def _refuse_expansions(value: object, path: Path, shape: Shape, result: Revealed) -> None:
    """A whole value such as ``"${URL}"`` in an adapter's table is never meant to be sent like that."""

    def look(found: object, at: Path) -> None:
        if _secret_at(at, shape):
            return
        if isinstance(found, Mapping):
            for name, inner in found.items():
                look(inner, (*at, name))
        elif isinstance(found, list):
            for number, inner in enumerate(found):
                look(inner, (*at, number))
        elif isinstance(found, str) and found.startswith("${") and found.endswith("}"):
            name = "FERRULE_" + "__".join(str(step) for step in at).upper()
            result.faults.append((at, "variables inside text are not expanded", f"set {name} instead"))

    look(value, path)
