"""``python -m ferrule.testing.mock_llm``: the server by hand."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from .script import Reply, calls, error, raw, say
from .server import MockLLM

EPILOG = """
examples:
  python -m ferrule.testing.mock_llm --port 8099
  OPENAI_BASE_URL=http://127.0.0.1:8099/v1 OPENAI_MODEL=mock-tools-3 ferrule run --yes "go"
  python -m ferrule.testing.mock_llm --script steps.json

a script is a JSON list of steps, taken one per request:
  {"say": "hello"}
  {"call": "file_read", "arguments": {"path": "a.txt"}}
  {"error": 429, "body": {"error": {"message": "slow down"}}, "headers": {"retry-after": "1"}}
  {"raw": "data: {...}\\n\\n"}
each may have "every", "delay_s", "pause_s", "stall_after", "drop_after".
"""

_HOW = ("every", "delay_s", "pause_s", "stall_after", "drop_after")


def step_of(table: dict[str, Any]) -> Reply:
    """Read one step of a script file.

    Raises:
        ValueError: it is none of the four kinds.
    """
    if "say" in table:
        reply = say(str(table["say"]))
    elif "call" in table:
        reply = calls([(str(table["call"]), table.get("arguments", {}))])
    elif "error" in table:
        reply = error(int(table["error"]), table.get("body", {}), headers=table.get("headers"))
    elif "raw" in table:
        reply = raw(str(table["raw"]).encode(), status=int(table.get("status", 200)), headers=table.get("headers"))
    else:
        raise ValueError(f"a step has say, call, error or raw, not {', '.join(table) or 'nothing'}")
    how = {name: table[name] for name in _HOW if name in table}
    values: dict[str, Any] = {name: getattr(reply, name) for name in Reply.__dataclass_fields__}
    return Reply(**(values | how))


async def serve(server: MockLLM, port: int, port_file: Path | None) -> None:
    """Serve until cancelled; prints the address, and writes the port to a file if asked."""
    await server.start(port)
    if port_file is not None:
        port_file.write_text(str(server.port))
    sys.stdout.write(f"{server.base_url}\n")
    sys.stdout.flush()
    try:
        await asyncio.Event().wait()
    finally:
        await server.close()


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m ferrule.testing.mock_llm",
        description="A scripted OpenAI-style server on loopback.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 takes a free one")
    parser.add_argument("--port-file", type=Path, help="write the port into this file")
    parser.add_argument("--script", type=Path, help="a JSON list of steps; without one the model's name decides")
    options = parser.parse_args()
    try:
        script = [step_of(table) for table in json.loads(options.script.read_text())] if options.script else None
    except (OSError, ValueError) as failure:
        parser.error(f"--script {options.script}: {failure}")
    try:
        asyncio.run(serve(MockLLM(script), options.port, options.port_file))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
