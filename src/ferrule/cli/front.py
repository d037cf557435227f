"""The front door: finds the command, and turns errors into one clear message and an exit code.

Nothing but the standard library's smallest parts is imported before a command
is known, so ``--version`` and ``--help`` cost next to nothing.

Exit codes: 0 completed, 1 failed, 2 usage or config, 3 stopped by a denial,
4 limit, 130 cancelled.
"""

from __future__ import annotations

import importlib
import os
import sys

from .. import __version__
from ..types.errors import ConfigError, FerruleError, UsageError
from .complaint import fix_of, of_the_encoding, of_the_system
from .help_text import stored_help
from .printable import printable
from .standard_streams import OutputFailed

TYPE_CHECKING = False  # type checkers take it for true; `typing` itself would be loaded by every --help
if TYPE_CHECKING:
    import click

COMMANDS: dict[str, str] = {
    "agents": "ferrule.cli.agents_command:agents",
    "chat": "ferrule.cli.chat_command:chat",
    "completion": "ferrule.cli.completion_command:completion",
    "config": "ferrule.cli.config_command:config",
    "doctor": "ferrule.cli.doctor_command:doctor",
    "init": "ferrule.cli.init_command:init",
    "logs": "ferrule.cli.logs_command:logs",
    "policy": "ferrule.cli.policy_command:policy",
    "run": "ferrule.cli.run_command:run",
    "secret": "ferrule.cli.secret_command:secret",
    "sessions": "ferrule.cli.sessions_command:sessions",
    "tools": "ferrule.cli.tools_command:tools",
}

SUMMARIES: dict[str, str] = {
    "init": "the first config: find a model, test it, use it",
    "chat": "talk with an agent in the terminal",
    "run": "one message, one answer: for scripts and pipes",
    "agents": "who there is, and by which rules they work",
    "tools": "what an agent can call",
    "policy": "what an agent may do, and why",
    "sessions": "conversations that are kept",
    "config": "read, check and change the configuration",
    "secret": "keep secrets encrypted",
    "logs": "what happened, filtered by turn",
    "doctor": "check this installation, each finding with its fix",
    "completion": "a script by which your shell completes all of this",
}

USAGE = """\
Usage: ferrule COMMAND [OPTIONS]

An AI agent on your own machine, behind one gate that you control.

Commands:
{commands}

Options:
  --version  print the version
  --help     print this text; `ferrule COMMAND --help` says more

Examples:
  ferrule init
  ferrule chat
  ferrule run "What files are in this folder?"
  git diff | ferrule run "Explain this change" --json
"""


def help_text() -> str:
    """Return the text of ``ferrule --help``."""
    lines = [f"  {name:<10}  {summary}" for name, summary in SUMMARIES.items()]
    return USAGE.format(commands="\n".join(lines))


def front(arguments: list[str]) -> int:
    """Run the command line; returns the exit code.

    What the system refuses (files, memory, descriptors) and text that is not
    UTF-8 become messages here, for every command: code below needs no handler
    for what it cannot mend.
    """
    try:
        code = _go(arguments)
        sys.stdout.flush()
    except OutputFailed as error:
        return 1 if error.reader_left else fail(error)
    except FerruleError as error:
        return fail(error)
    except BrokenPipeError:
        return 1
    except OSError as error:
        return fail(of_the_system(error))
    except UnicodeError as error:
        return fail(of_the_encoding(error))
    except MemoryError:
        return fail(FerruleError("there is not enough memory", hint="free memory or raise the limit (ulimit -v)"))
    except KeyboardInterrupt:
        sys.stderr.write("cancelled\n")
        return 130
    return code


def fail(error: FerruleError) -> int:
    """Print an error with its cause and fix; returns the exit code."""
    sys.stderr.write(f"error: {printable(str(error))}\n")
    fix = fix_of(error.code, error.hint)
    if fix:
        sys.stderr.write(f"  fix: {printable(fix)}\n")
    return 2 if isinstance(error, ConfigError | UsageError) else 1


def _go(arguments: list[str]) -> int:
    if instruction := os.environ.get("_FERRULE_COMPLETE"):
        return _complete(instruction)
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        sys.stdout.write(help_text())
        return 0
    name, *rest = _as_utf8(arguments)
    if name in ("--version", "-V"):
        sys.stdout.write(f"ferrule {__version__}\n")
        return 0
    target = COMMANDS.get(name)
    if target is None:
        raise UsageError(f"there is no command {name!r}", hint=_nearest(name))
    if (text := stored_help(arguments)) is not None:
        sys.stdout.write(text)
        return 0
    return _run(name, target, rest)


def _as_utf8(arguments: list[str]) -> list[str]:
    """Read arguments as UTF-8, whatever the locale says; other bytes can be neither sent, stored nor shown."""
    found: list[str] = []
    for number, argument in enumerate(arguments, 1):
        try:
            found.append(os.fsencode(argument).decode())
        except UnicodeError as error:
            told = of_the_encoding(error)
            raise UsageError(f"argument {number}: {told}", hint=told.hint) from error
    return found


def _run(name: str, target: str, arguments: list[str]) -> int:
    import click

    command = _loaded(target)
    try:
        code = command.main(args=arguments, prog_name=f"ferrule {name}", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        sys.stderr.write("cancelled\n")
        return 130
    except click.UsageError as error:
        raise UsageError(error.format_message(), hint=f"`{_path(error, name)} --help` shows how") from error
    except click.ClickException as error:
        raise UsageError(error.format_message()) from error
    return code if isinstance(code, int) else 0


def _path(error: click.UsageError, name: str) -> str:
    return error.ctx.command_path if error.ctx is not None else f"ferrule {name}"


def _loaded(target: str) -> click.Command:
    module, _, attribute = target.partition(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    return command


def _complete(instruction: str) -> int:
    """Answer a shell that completes a line; of all commands only those on the line are loaded."""
    import click

    answer_shell = importlib.import_module("ferrule.cli.completion_command").answer_shell
    typed = os.environ.get("COMP_WORDS", "").split()
    commands = {
        name: _loaded(COMMANDS[name]) if name in typed else click.Command(name, short_help=summary)
        for name, summary in SUMMARIES.items()
    }
    code: int = answer_shell(click.Group("ferrule", commands=commands), instruction)
    return code


def _nearest(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, COMMANDS, 1)
    return f"did you mean {close[0]!r}?" if close else "`ferrule --help` lists them"
