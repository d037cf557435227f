"""``ferrule completion``: the script that teaches a shell to complete this program's words."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from ..types.errors import FerruleError

VARIABLE = "_FERRULE_COMPLETE"
"""Set by the script when the shell asks: ``bash_complete``, ``zsh_complete``, ``fish_complete``."""

EPILOG = """\b
Examples:
  ferrule completion bash >> ~/.bashrc
  ferrule completion zsh >> ~/.zshrc
  ferrule completion fish > ~/.config/fish/completions/ferrule.fish"""


@click.command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script by which SHELL completes commands, options, agents and sessions."""
    # Not `source()`: for bash it starts a bash to look at its version.
    made = _completer(shell, click.Command("ferrule"))
    click.echo(made.source_template % made.source_vars())


def answer_shell(root: click.Group, instruction: str) -> int:
    """Print what may stand at the cursor, as the script of `completion` asks for it; returns the exit code.

    Args:
        instruction: The value of `VARIABLE`.
    """
    shell, _, verb = instruction.partition("_")
    if verb != "complete" or shell not in ("bash", "zsh", "fish"):
        return 1
    try:
        click.echo(_completer(shell, root).complete())
    except (FerruleError, KeyError, ValueError):  # a word that cannot be completed; a person is typing at this line
        return 1
    return 0


def _completer(shell: str, root: click.Command) -> ShellComplete:
    kind = get_completion_class(shell)
    if kind is None:
        raise ValueError(shell)
    return kind(root, {}, "ferrule", VARIABLE)
