"""What a server says about its models."""

from __future__ import annotations

from dataclasses import dataclass

from ...types.errors import BadRequest
from .._chat.failures import Failures
from .._json import loads


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """One model.

    Attributes:
        capabilities: ``completion``, ``tools``, ``vision``, ``thinking`` and others; empty when the server does not say.
        context: Tokens it takes at most; None when the server does not say.
    """

    capabilities: frozenset[str] = frozenset()
    context: int | None = None


def read_names(body: bytes, failures: Failures) -> tuple[str, ...]:
    """Read the answer of ``/api/tags``.

    Raises:
        BadRequest: it is none.
    """
    models = _object(body, failures).get("models")
    if not isinstance(models, list):
        raise no_ollama(failures)
    names = [model.get("name") or model.get("model") for model in models if isinstance(model, dict)]
    return tuple(name for name in names if isinstance(name, str) and name)


def read_facts(body: bytes, failures: Failures) -> ModelFacts:
    """Read the answer of ``/api/show``.

    Raises:
        BadRequest: it is none.
    """
    document = _object(body, failures)
    capabilities, info = document.get("capabilities"), document.get("model_info")
    listed = capabilities if isinstance(capabilities, list) else []
    lengths = info.items() if isinstance(info, dict) else ()
    found = [value for key, value in lengths if key.endswith(".context_length") and type(value) is int]
    return ModelFacts(
        capabilities=frozenset(c for c in listed if isinstance(c, str)), context=found[0] if found else None
    )


def no_ollama(failures: Failures) -> BadRequest:
    """Make the error of an address behind which there is something else."""
    return BadRequest(
        f"{failures.name}: the server does not answer like Ollama",
        hint="check base_url: it is the address of an Ollama server, without /api",
    )


def _object(body: bytes, failures: Failures) -> dict[str, object]:
    try:
        document = loads(body)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise no_ollama(failures)
    return document
