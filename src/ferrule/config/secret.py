"""Secrets in the config: references, encrypted values, and the mask that is shown instead.

A secret is a table ``{ env = "NAME" }`` or ``{ secret = "NAME" }``, an
encrypted value ``enc2:...`` that opens only at its own key, or text. Text is
taken as it stands, except that ``${`` is refused - people expect an expansion
there - unless it is written ``$${``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ..storage.vault import INSTALL, PREFIX, Vault, VaultError, agent_namespace
from .problems import Path, dotted
from .shape import Shape

MASK = "***"

_LOOKS_SECRET = ("api_key", "token", "secret", "password", "credential", "authorization")


_WRITE = 'write { env = "NAME" }, { secret = "NAME" } or text'


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where secrets come from.

    Attributes:
        environ: The environment.
        vault: What opens encrypted values; without one they stay closed.
    """

    environ: Mapping[str, str]
    vault: Vault | None = None


@dataclass(slots=True)
class Revealed:
    """A table with its secrets in plain text.

    Attributes:
        table: What the adapter's settings are made from.
        values: Every secret in it, for the guard.
        faults: Path below the table, cause, hint.
        unset: The same, of what matters only to those who use the table: a secret that is not there or not to be had.
        literal: Where a secret stands in the config itself, readable.
    """

    table: object
    values: list[str] = field(default_factory=list)
    faults: list[tuple[Path, str, str]] = field(default_factory=list)
    unset: list[tuple[Path, str, str]] = field(default_factory=list)
    literal: list[Path] = field(default_factory=list)


def reveal(table: object, *, path: Path, shape: Shape, sources: Sources) -> Revealed:
    """Replace the references and encrypted values below `path` by what they stand for.

    What cannot be had is an entry of `unset`, and its place is held by the
    mask so that the rest of the table can still be checked.
    """
    result = Revealed(table=None)
    result.table = _walk(table, path, shape, lambda value, at: _secret(value, at, sources, result))
    _refuse_expansions(table, path, shape, result)
    return result


def masked(value: object, *, path: Path, shape: Shape) -> object:
    """Return `value` as it may be shown: secrets replaced, references and structure kept."""
    return _walk(value, path, shape, lambda found, _: found if _is_reference(found) else MASK)


def _walk(value: object, path: Path, shape: Shape, leaf: Callable[[object, Path], object]) -> object:
    if secret_at(path, shape):
        return leaf(value, path)
    if isinstance(value, Mapping):
        return {name: _walk(inner, (*path, name), shape, leaf) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(inner, (*path, number), shape, leaf) for number, inner in enumerate(value)]
    return value


def secret_at(path: Path, shape: Shape) -> bool:
    """Tell whether a key holds a secret; one that no schema knows (a typing slip) is judged by its name."""
    if shape.nodes(path):
        return shape.is_secret(path)
    name = next((step for step in reversed(path) if isinstance(step, str)), "")
    return any(word in name for word in _LOOKS_SECRET)


def namespace_of(path: Path) -> str:
    """Return whose secret stands at a key: an agent's below its table, else the installation's."""
    return agent_namespace(str(path[1])) if path[0] == "agents" and len(path) > 1 else INSTALL


def sealed_values(data: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield every encrypted value of a config as it was read, with its key."""
    for at, value in _leaves(data, path):
        if isinstance(value, str) and value.startswith(PREFIX):
            yield at, value


def named_secrets(data: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield every ``{ secret = "NAME" }`` of a config as it was read, with its key."""
    for at, value in _leaves(data, path):
        if isinstance(value, Mapping):
            yield at, str(value["secret"])


def _leaves(value: object, path: Path) -> Iterator[tuple[Path, object]]:
    if isinstance(value, Mapping) and not _refers_to(value, "secret"):
        for name, inner in value.items():
            yield from _leaves(inner, (*path, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _leaves(inner, (*path, number))
    else:
        yield path, value


def _is_reference(value: object) -> bool:
    return _refers_to(value, "env") or _refers_to(value, "secret")


def _refers_to(value: object, what: str) -> bool:
    return isinstance(value, Mapping) and set(value) == {what} and isinstance(value[what], str)


def _secret(value: object, path: Path, sources: Sources, result: Revealed) -> object:
    if isinstance(value, Mapping):
        if not _is_reference(value):
            result.faults.append((path, "not a secret", _WRITE))
            return MASK
        if "env" in value:
            return _from_environment(str(value["env"]), path, sources.environ, result)
        return _from_vault(lambda vault: _named(vault, str(value["secret"]), path), path, sources, result)
    if not isinstance(value, str):
        return value
    if value.startswith(PREFIX):
        return _from_vault(
            lambda vault: vault.open(value, namespace=namespace_of(path), place=dotted(path)), path, sources, result
        )
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


def _from_vault(ask: Callable[[Vault], str], path: Path, sources: Sources, result: Revealed) -> str:
    if sources.vault is None:
        result.unset.append((path, "the secret stays closed: nothing opens it here", ""))
        return MASK
    try:
        found = ask(sources.vault)
    except VaultError as error:
        result.unset.append((path, str(error), error.hint or ""))
        return MASK
    result.values.append(found)
    return found


def _named(vault: Vault, name: str, path: Path) -> str:
    found = vault.get(namespace_of(path), name)
    if found is None:
        raise VaultError(f"there is no secret {name!r}", hint=f"ferrule secret set {name}")
    return found


def _refusal(text: str) -> tuple[str, str] | None:
    if text == MASK:
        return "the value is the mask that is shown instead of a secret", "write the secret itself"
    unescaped = text.replace("$${", "")
    if "${" in unescaped:
        name = unescaped.partition("${")[2].partition("}")[0] or "NAME"
        return "variables inside text are not expanded", f'write {{ env = "{name}" }}, or "$${{" for the characters'
    return None


def _refuse_expansions(value: object, path: Path, shape: Shape, result: Revealed) -> None:
    """A whole value such as ``"${URL}"`` in an adapter's table is never meant to be sent like that."""

    def look(found: object, at: Path) -> None:
        if secret_at(at, shape):
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
