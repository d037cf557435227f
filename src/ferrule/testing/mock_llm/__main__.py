"""``python -m ferrule.testing.mock_llm``: the server by hand."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

from ...storage.atomic import write_atomic
from ...types.errors import StoreError
from .server import MockLLM
from .steps import script_of

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
each may have "every", "delay_s", "pause_s", "stall_after", "stall_s" (then it goes on), "drop_after".
"""

_LAST_PORT = 65_535


def port(text: str) -> int:
    """Read a port.

    Raises:
        ValueError: it is none.
    """
    if not 0 <= int(text) <= _LAST_PORT:
        raise ValueError(text)
    return int(text)


async def serve(server: MockLLM, port: int, port_file: Path | None) -> None:
    """Serve until cancelled; prints the address, and writes the port to a file if asked.

    Raises:
        ValueError: the port or the file cannot be had; the message names the option.
    """
    try:
        await server.start(port)
    except OSError as failure:
        raise ValueError(f"--port {port}: {os.strerror(failure.errno or 0)}; take another one, or 0") from None
    if port_file is not None:
        try:
            write_atomic(port_file, str(server.port).encode())
        except (OSError, StoreError) as failure:
            await server.close()
            raise ValueError(f"--port-file {port_file}: {failure}") from None
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
    parser.add_argument("--port", type=port, default=0, help="port to listen on; 0 takes a free one")
    parser.add_argument("--port-file", type=Path, help="write the port into this file")
    parser.add_argument("--script", type=Path, help="a JSON list of steps; without one the model's name decides")
    options = parser.parse_args()
    try:
        script = script_of(options.script.read_text("utf-8")) if options.script else None
    except (OSError, ValueError) as failure:
        parser.error(f"--script {options.script}: {failure}")
    try:
        asyncio.run(serve(MockLLM(script), options.port, options.port_file))
    except ValueError as failure:
        parser.error(str(failure))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
