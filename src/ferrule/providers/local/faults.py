"""Why a model could not be loaded, from what the engine printed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...types.errors import ConfigError

_ARCHITECTURE = re.compile(r"unknown model architecture: '([^']*)'")
_CUT = re.compile(r"not within the file bounds|corrupted or incomplete|failed to read")
_MEMORY = re.compile(r"alloc|out of memory|memory", re.IGNORECASE)
_CAUSE = re.compile(r"error loading model: (.*)")


def load_fault(named: str, path: Path, report: Mapping[str, object], printed: Sequence[str]) -> ConfigError:
    """Make the error; `report` is what the process said, `printed` the last lines of the engine."""
    if report.get("kind") == "package":
        return ConfigError(
            f"the provider 'local' needs the package xllamacpp ({report.get('text')})",
            hint="install it with: pip install 'ferrule[local]'",
            code="provider.not_installed",
        )
    words = "\n".join(printed)
    cause = _CAUSE.search(words)
    said = cause.group(1) if cause else next((line for line in reversed(printed) if line), str(report.get("text")))
    unknown = _ARCHITECTURE.search(words)
    if unknown:
        text = f"{named}: the engine does not know the architecture {unknown.group(1)!r} of {path}"
        hint = "use another model, or a newer engine: pip install --upgrade xllamacpp"
    elif _CUT.search(words):
        text = f"{named}: {path} is damaged or not whole: {said}"
        hint = "download the file again and compare its size with the one at its source"
    else:
        text = f"{named}: {path} cannot be loaded: {said}"
        hint = "use a smaller model or context_tokens" if _MEMORY.search(said) else "try another GGUF file"
    return ConfigError(text, hint=hint, code="provider.model_file")
