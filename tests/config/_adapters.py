"""Adapters of the tests' own, through the same door as real ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from ferrule.config.load import Loaded, load
from ferrule.config.shape import Adapters
from ferrule.ports.adapter import Kind, SettingsLike


class Header(BaseModel):
    """A table inside a list inside a table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    token: SecretStr


class Acme(BaseModel):
    """A provider with a secret, an optional one, and secrets in a list of tables."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    base_url: str = "http://127.0.0.1:1"
    retries: Annotated[int, Field(ge=0)] = 2
    api_key: SecretStr | None = None
    headers: list[Header] = []


class Plain(BaseModel):
    """A part that needs nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: int = 1


class Stubborn:
    """Settings of an outside package that does without pydantic."""

    @classmethod
    def model_validate(cls, obj: object, /) -> Stubborn:
        """Refuse everything but an empty table."""
        if obj:
            raise ValueError("nothing can be set here")
        return cls()

    @classmethod
    def model_json_schema(cls) -> Mapping[str, object]:
        """Describe a table without keys."""
        return {"type": "object", "additionalProperties": False, "properties": {}}


TABLE: dict[tuple[str, str], type[SettingsLike]] = {
    ("providers", "acme"): Acme,
    ("providers", "plain"): Plain,
    ("providers", "stubborn"): Stubborn,
}


def settings_for(kind: Kind, adapter: str) -> type[SettingsLike] | None:
    """Find one of the table."""
    return TABLE.get((kind, adapter))


def names(kind: Kind) -> Sequence[str]:
    """List the table, and two tools."""
    return ["file_read", "shell"] if kind == "tools" else [name for of, name in TABLE if of == kind]


ADAPTERS = Adapters(settings_for=settings_for, names=names)


def read(
    folder: Path,
    text: str,
    *,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
    agents: Sequence[str] | None = None,
) -> Loaded:
    """Write a private file and load it."""
    path = folder / "config.toml"
    path.write_text(text)
    path.chmod(0o600)
    return load(path, settings_for=settings_for, names=names, environ=environ or {}, flags=flags, agents=agents)
