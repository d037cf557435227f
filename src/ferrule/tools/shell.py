"""`shell`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from ..ports.handles import CommandOutcome, CommandRequest
from ..ports.tool import ToolContext
from ..types.access import Access
from ..types.arguments import Range
from ..types.tools import ToolResult

NORMAL_ONE = {
    "grep": "no matches",
    "rg": "no matches",
    "diff": "the files differ",
    "cmp": "the files differ",
    "test": "false",
}
"""Programs whose exit code 1 is an answer, no failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellArguments:
    """Arguments of `shell`."""

    command: Annotated[str, "The command line."]
    cwd: Annotated[str, "Folder to run in, relative to the workspace."] = ""
    timeout_s: Annotated[float, Range(1, 600), "Seconds until it is stopped."] = 120.0


class Shell:
    """Run a command line."""

    name: ClassVar[str] = "shell"
    needs: ClassVar[frozenset[str]] = frozenset({"command.run"})
    arguments: ClassVar[type] = ShellArguments

    def accesses(self, arguments: ShellArguments) -> Sequence[Access]:
        """It runs one command line."""
        return (Access(action="command.run", target=arguments.command, cwd=arguments.cwd),)

    async def preview(self, arguments: ShellArguments, context: ToolContext) -> str:
        """Show the whole command and where it runs."""
        return f"{arguments.command}\n  in {arguments.cwd or 'the workspace'}, at most {arguments.timeout_s:g} s"

    async def execute(self, arguments: ShellArguments, context: ToolContext) -> ToolResult:
        """Run it."""
        request = CommandRequest(line=arguments.command, cwd=arguments.cwd, timeout_s=arguments.timeout_s)
        outcome = await context.commands.run(request, pump=context.output)
        return _told(arguments, outcome, request.max_output)


def _told(arguments: ShellArguments, outcome: CommandOutcome, kept: int) -> ToolResult:
    words = arguments.command.split()
    is_answer = outcome.exit_code == 1 and not outcome.shell  # of a whole line one cannot tell whose code it is
    meaning = NORMAL_ONE.get(words[0] if words else "", "") if is_answer else ""
    streams = [outcome.stdout.rstrip("\n"), f"stderr:\n{outcome.stderr.rstrip()}" if outcome.stderr.strip() else ""]
    lines = [text for text in streams if text]
    if outcome.timed_out:
        lines.append(f"[stopped after {arguments.timeout_s:g} s]")
    elif meaning:
        lines.append(f"[exit code 1: {meaning} (normal)]")
    elif outcome.exit_code:
        lines.append(f"[exit code {outcome.exit_code}]")
    is_error = outcome.timed_out or (bool(outcome.exit_code) and not meaning)
    return ToolResult(
        content="\n".join(lines),
        is_error=is_error,
        code=("command.timed_out" if outcome.timed_out else "command.failed") if is_error else "",
        trusted=False,  # it may be the text of any file or page
        truncated=max(outcome.stdout_bytes, outcome.stderr_bytes) > kept,
        details={
            "exit_code": outcome.exit_code,
            "stdout_bytes": outcome.stdout_bytes,
            "stderr_bytes": outcome.stderr_bytes,
            "shell": outcome.shell,
        },
    )


TOOL = Shell()
